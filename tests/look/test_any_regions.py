"""A data set with regions of its own: label maps in, tables, curves and pages of these regions."""

import csv
import json
import re
from pathlib import Path

import cv2
import numpy as np
import pytest
import torch
import yaml

from fer_lightning.cli import main
from fer_lightning.data.datamodule import Defects, FERDataModule
from fer_lightning.data.defects import write_defects
from fer_lightning.data.regions import FACE, Regions
from fer_lightning.errors import UserError
from fer_lightning.look.controls.hiding import hide_regions
from fer_lightning.look.measure import measure, summarise_regions
from fer_lightning.models import CNN
from fer_lightning.runs.run import Run

NET = ("--model.net=cnn", "--model.net.widths=[4,4,4,4]", "--model.net.feature_width=8")


def rows(path):
    return list(csv.DictReader(Path(path).read_text().splitlines()))


@pytest.fixture
def plates(tmp_path, monkeypatch):
    """A folder as a user has it: pictures, label maps, names."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WANDB_MODE", "disabled")
    write_defects(Path("plates"), size=120, image_size=32)
    return ["--data.masks=plates/masks", "--data.regions=plates/regions.yaml"]


def data(**options):
    return FERDataModule(
        data_dir="plates/images",
        masks="plates/masks",
        regions="plates/regions.yaml",
        **options,
    )


def test_everything_speaks_of_the_data_sets_own_regions(plates, capsys):
    options = [
        *("--data.data_dir=plates/images", "--trainer.max_epochs=1", "--run_name=own"),
        "--trainer.callbacks+=fer_lightning.callbacks.FocusCallback",
        "--trainer.callbacks.samples=12",
    ]
    assert main(["fit", *NET, *plates, *options]) == 0
    folder = Path("runs/own")
    metrics = rows(folder / "metrics.csv")[0]
    named = {name.split("/")[-1] for name in metrics if name.startswith("val/lfr/")}
    assert named == {"defect", "print", "all"}
    assert {row["region"] for row in rows(folder / "focus.csv")} == named
    assert {"lfr_defect", "lsi_all", "centred_defect_mean"} <= set(
        rows(folder / "focus_samples.csv")[0]
    )
    assert {row["region"] for row in rows(folder / "hiding.csv")} == {"defect", "background"}
    summary = json.loads((folder / "summary.json").read_text())
    assert Run(folder, "cnn", 1.0, 42, summary=summary).regions == data().image_set.regions
    page = re.sub(r"data:[^\"]*", "", (folder / "report.html").read_text())
    assert "DEFECT" in page
    assert not any(word in page for word in ("KEY", "eyebrow", "mouth"))
    capsys.readouterr()
    assert main(["focus", f"--checkpoint={folder}/checkpoints/best.ckpt", "--n=8"]) == 0
    shown = capsys.readouterr().out
    assert "DEFECT" in shown
    assert "label map" in shown
    assert "KEY" not in shown


def test_masks_are_those_of_the_label_maps(plates):
    found = data().image_set
    assert found.regions == Regions(
        "picture", ("print", "defect"), {"all": ("defect", "print")}, "defect", "plate"
    )
    name = Path("plates/masks", str(found.files[7])).with_suffix(".png")
    labels = cv2.imread(str(name), cv2.IMREAD_GRAYSCALE)
    for k, region in enumerate(found.mask_regions):
        expected = {"print": labels == 2, "defect": labels == 3, "plate": labels > 0}[region]
        np.testing.assert_array_equal(found.masks[7, k], expected)
    assert found.fingerprint == FERDataModule(data_dir="plates/images").image_set.fingerprint


def test_resized_pictures_have_resized_label_maps(plates):
    from fer_lightning.data.datamodule import Files

    assert data(files=Files(image_size=16)).image_set.masks.shape[2:] == (16, 16)


def test_pictures_that_are_no_faces_get_no_focus_numbers(plates, capsys, recwarn):
    options = [
        *("--data.data_dir=plates/images", "--trainer.max_epochs=1", "--run_name=none"),
        "--trainer.callbacks+=fer_lightning.callbacks.FocusCallback",
    ]
    assert main(["fit", *NET, *options]) == 0
    told = [str(w.message) for w in recwarn if "FocusCallback" in str(w.message)]
    assert len(told) == 1
    assert "has none" in told[0]
    assert "--data.masks" in told[0]
    folder = Path("runs/none")
    assert not list(folder.glob("focus*"))
    assert not [name for name in rows(folder / "metrics.csv")[0] if "lfr" in name]
    code = main(["focus", f"--checkpoint={folder}/checkpoints/best.ckpt"])
    assert code == 2
    assert "expected a data set with regions" in capsys.readouterr().err
    assert not (folder / "controls").exists()


def test_an_image_without_a_region_does_not_count_for_it():
    regions = Regions("thing", ("a", "b"), {}, "a")
    heat = torch.rand(3, 4, 4)
    masks = torch.zeros(3, 2, 4, 4, dtype=torch.bool)
    masks[:, 0, :2] = True
    masks[0, 1, 2:, :2] = True  # only the first image has b
    found = {
        row["region"]: row for row in summarise_regions(measure(heat, masks, regions), regions)
    }
    assert (found["a"]["n"], found["b"]["n"]) == (3, 1)
    assert found["b"]["zero_maps"] == 0
    inside, outside = heat[0, 2:, :2].mean(), (heat[0].sum() - heat[0, 2:, :2].sum()) / 12
    assert found["b"]["lfr_mean"] == pytest.approx((inside / outside).item(), rel=1e-5)
    assert np.isnan(found["a"]["background_share"])  # nothing is outside of these


def test_without_an_outside_only_the_primary_region_is_hidden():
    regions = Regions("thing", ("a",), {}, "a")
    masks = torch.zeros(2, 1, 16, 16, dtype=torch.bool)
    masks[:, :, :4] = True
    model = CNN(image_size=16, widths=(4, 4, 4, 4))
    found = hide_regions(model, torch.rand(2, 1, 16, 16), torch.tensor([0, 1]), masks, regions)
    assert {row["region"] for row in found.rows} == {"a"}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"regions": {0: "a"}}, "pixel values from 1 to 255"),
        ({"regions": {1: "a"}, "primary": "b"}, "expected a region but got 'b'"),
        ({"regions": {1: "a/b"}}, "letters, digits"),
        ({"regions": {1: "background"}}, "not background"),
        ({"regions": {1: "a"}, "unions": {"u": ["c"]}}, "expected a region but got 'c'"),
        ({"regions": {1: "a"}, "outsid": "b"}, "did you mean 'outside'"),
        ({"regions": {2: "print", 3: "defect"}}, "has 1; add it"),
        ({"regions": {1: "plate", 2: "print", 3: "defect", 4: "rust"}, "primary": "rust"}, "rust"),
        ([1], "'regions: {1: name"),
    ],
)
def test_names_that_do_not_fit(plates, change, message):
    Path("plates/regions.yaml").write_text(yaml.safe_dump(change))
    with pytest.raises(UserError, match=message):
        _ = data().image_set


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda path: path.unlink(), "has no .*png"),
        (lambda path: path.write_bytes(b"no picture"), "is not a whole"),
        (lambda path: cv2.imwrite(str(path), np.zeros((8, 9), np.uint8)), "same shape"),
        (
            lambda path: cv2.imwrite(str(path), np.eye(32, dtype=np.uint8)[..., None] * [1, 2, 3]),
            "has colours",
        ),
    ],
)
def test_label_maps_that_do_not_fit(plates, spoil, message):
    spoil(sorted(Path("plates/masks").rglob("*.png"))[3])
    with pytest.raises(UserError, match=message):
        _ = data().image_set


def test_masks_and_names_come_together():
    with pytest.raises(UserError, match="masks and regions together"):
        FERDataModule(masks="plates/masks")


def test_drawn_defects_are_a_source():
    found = FERDataModule(source="defects", defects=Defects(size=12)).image_set
    assert (found.regions.primary, found.regions.outside) == ("defect", "plate")
    assert found.regions != FACE
