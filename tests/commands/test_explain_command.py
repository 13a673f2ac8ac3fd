import json
from pathlib import Path

import cv2
import numpy as np
import pytest
import torch
from explain_samples import (
    ALWAYS,
    FACES,
    explainer,
    listing,
    logits,
    rows,
    save_net,
    tiny_vit,
    write,
)

from fer_lightning.data.faces import drawn_faces
from fer_lightning.data.labels import FER_CLASSES
from fer_lightning.data.masks import template
from fer_lightning.data.regions import FACE
from fer_lightning.look.heat import to_heat
from fer_lightning.look.methods.grad_cam import grad_cam
from fer_lightning.look.metrics import background_share, local_focus_ratio, local_sensitivity_index
from fer_lightning.look.overlay import draw_overlay
from fer_lightning.models import CNN


@pytest.fixture
def net():
    return tiny_vit()


@pytest.fixture
def explain(run, net):
    return explainer(run, net)


def test_all_files_agree_with_the_parts_that_make_them(explain, net):
    for i in range(3):
        write(f"faces/{i}.png", FACES[i])
    code, out, err = explain()
    assert code == 0, err
    assert listing("out") == ["0.png", "1.png", "2.png", *ALWAYS]

    cam = grad_cam(net, torch.from_numpy(FACES[:3, None]).float() / 255)
    heat = to_heat(cam.signed, 48)
    with np.load("out/maps.npz") as saved:
        assert saved["files"].tolist() == ["0.png", "1.png", "2.png"]
        assert saved["classes"].tolist() == list(FER_CLASSES)
        np.testing.assert_allclose(saved["maps"], cam.signed, atol=1e-6)
        np.testing.assert_allclose(saved["logits"], cam.logits, atol=1e-6)
        assert saved["target"].tolist() == cam.target.tolist()
    masks = {name: torch.tensor(mask) for name, mask in template(48).items()}
    expected = {
        **{f"lfr_{name}": local_focus_ratio(heat, masks[name]) for name in FACE.order[:6]},
        "lsi": local_sensitivity_index(
            heat, torch.stack([masks[name] for name in FACE.members("key")])
        ),
        "background_share": background_share(heat, masks["face"]),
    }
    for i, row in enumerate(rows()):
        assert row["masks"] == "template masks"
        assert row["predicted"] == row["target"] == FER_CLASSES[cam.logits[i].argmax()]
        assert float(row["probability"]) == pytest.approx(
            cam.logits[i].softmax(0).max().item(), rel=1e-4
        )
        for name, values in expected.items():
            assert float(row[name]) == pytest.approx(values[i].item(), rel=1e-3), name
        face = cv2.resize(FACES[i], (224, 224), interpolation=cv2.INTER_LINEAR)
        overlay = cv2.cvtColor(cv2.imread(f"out/{i}.png"), cv2.COLOR_BGR2RGB)
        assert np.abs(overlay.astype(int) - draw_overlay(face, heat[i])).max() <= 1
    for text in ("template masks", "explained 3 of 3 files by grad_cam", "lie in out"):
        assert text in out
    assert "drawn faces instead of FER-2013" in out


def test_the_notes_say_where_the_numbers_come_from(explain):
    write("face.png", FACES[0])
    assert explain("--target=sad", images="face.png")[0] == 0
    notes = json.loads(Path("out/notes.json").read_text())
    assert notes["files"] == ["explain.csv", "face.png", "maps.npz", "notes.json"]
    assert notes["trained_on"] == {"data": "drawn faces", "fingerprint": "f00d"}
    assert notes["model"]["name"] == "vit"
    assert notes["model"]["init_args"]["dim"] == 16
    assert (notes["method"], notes["target"]) == ("grad_cam", "sad")
    assert "template masks" in notes["masks"]
    assert "square in their middle" in notes["pictures"]
    assert "torch" in notes["versions"]
    assert len(notes["checkpoint"]["sha256"]) == 64


@pytest.mark.parametrize(
    ("method", "shape"),
    [
        ("grad_cam", (2, 8, 8)),
        ("hires_cam", (2, 8, 8)),
        ("integrated_gradients", (2, 48, 48)),
        ("smooth_grad", (2, 48, 48)),
        ("occlusion", (2, 48, 48)),
        ("attention_relevance", (2, 8, 8)),
    ],
)
def test_each_method_explains_the_class_that_is_asked_for(explain, net, method, shape):
    write("faces/a.png", FACES[0])
    write("faces/b.png", FACES[1])
    maps = []
    for target in ("happy", "4"):
        code, _, err = explain(f"--method={method}", f"--target={target}", out=target)
        assert code == 0, err
        with np.load(f"{target}/maps.npz") as saved:
            assert saved["maps"].shape == shape
            assert saved["maps"].dtype == np.float32
            maps.append(saved["maps"])
    assert not np.allclose(*maps)
    assert {row["target"] for row in rows("happy")} == {"happy"}
    assert {row["target"] for row in rows("4")} == {"sad"}
    with torch.no_grad():
        answer = net(torch.from_numpy(FACES[:2, None]).float() / 255)
    np.testing.assert_allclose(logits("happy"), answer, atol=1e-5)
    chance = [float(row["target_probability"]) for row in rows("happy")]
    np.testing.assert_allclose(chance, answer.softmax(1)[:, 3], rtol=1e-4)


def test_attention(explain):
    write("faces/a.png", FACES[0])
    assert explain("--method=attention_rollout")[0] == 0
    assert "it knows no class" in json.loads(Path("out/notes.json").read_text())["maps"]
    save_net(CNN(feature_width=8))
    code, _, err = explain("--method=attention_rollout", out="none")
    assert code == 2
    assert "expected a model with global attention but got CNN" in err
    assert not Path("none").exists()


def test_a_model_of_colour_gets_colour(run):
    torch.manual_seed(0)
    net = CNN(in_chans=3, image_size=32, num_classes=2, feature_width=8).eval()
    save_net(net, classes=("cat", "dog"))
    red = np.zeros((64, 64, 3), np.uint8)
    red[..., 0] = 200
    write("faces/red.png", red)
    write("faces/grey.png", np.full((64, 64), 90, np.uint8))
    code, _, err = run("explain", "--checkpoint=net.ckpt", "--images=faces", "--out=out")
    assert code == 0, err
    images = torch.zeros(2, 3, 32, 32)
    images[0] = 90 / 255
    images[1, 0] = 200 / 255
    with torch.no_grad():
        np.testing.assert_allclose(logits(), net(images), atol=1e-6)
    assert {row["predicted"] for row in rows()} <= {"cat", "dog"}


def test_without_masks_nothing_is_measured(explain):
    write("faces/a.png", FACES[0])
    code, out, _ = explain("--masks=none", "--size=64")
    assert code == 0
    assert rows()[0]["lfr_key"] == rows()[0]["lsi"] == ""
    assert rows()[0]["masks"] == "none"
    assert cv2.imread("out/a.png").shape == (64, 64, 3)
    assert "focus was not measured" in out


def test_zero_maps_are_told(explain, net):
    torch.nn.init.zeros_(net.head.weight)
    save_net(net)
    write("faces/a.png", FACES[0])
    code, out, err = explain()
    assert code == 0, err
    assert rows()[0]["zero_map"] == "yes"
    assert rows()[0]["lfr_key"] == "nan"
    assert "zero maps: 1" in out
    face = cv2.imread("out/a.png")
    assert (face[..., 0] == face[..., 2]).all()  # grey: nothing was drawn


def test_pictures_are_fed_as_the_model_was_trained(fit, run):
    """`explain` sees picture files only: the scale of the training pixels is in the checkpoint."""
    options = ("--data.scale=standard", "--trainer.max_epochs=1", "--data.drawn.size=70")
    assert fit(*options, "--trainer.enable_progress_bar=false")[0] == 0
    tested = np.load("runs/vit-seed42/predictions.npz")
    faces = drawn_faces(70, with_masks=False).images
    for row in tested["row"]:
        write(f"faces/{row:03}.png", faces[row, 0])
    best = "--checkpoint=runs/vit-seed42/checkpoints/best.ckpt"
    code, _, err = run("explain", best, "--images=faces", "--out=out")
    assert code == 0, err
    np.testing.assert_allclose(logits(), tested["logits"], atol=1e-5)
    model = json.loads(Path("out/notes.json").read_text())["model"]
    assert model["scale"]["std"][0] < 0.5


def test_a_run_folder_stands_for_its_best_checkpoint(explain, net):
    Path("runs/vit/checkpoints").mkdir(parents=True)
    save_net(net, "runs/vit/checkpoints/best.ckpt")
    write("faces/a.png", FACES[0])
    code, _, err = explain("--checkpoint=runs/vit")
    assert code == 0, err
    notes = json.loads(Path("out/notes.json").read_text())
    assert notes["checkpoint"]["path"] == "runs/vit/checkpoints/best.ckpt"
