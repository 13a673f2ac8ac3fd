"""The callbacks that look at a model, in a real run of two epochs on drawn faces."""

import csv
import json

import lightning as L
import numpy as np
import pytest
import torch

from fer_lightning.callbacks import (
    AttentionCallback,
    ConfusionCallback,
    EmbeddingCallback,
    FocusCallback,
    GradCAMCallback,
)
from fer_lightning.data.datamodule import Drawn, FERDataModule
from fer_lightning.data.masks import masks_for
from fer_lightning.data.regions import FACE
from fer_lightning.data.splits import probe_rows
from fer_lightning.errors import UserError
from fer_lightning.look.heat import to_heat
from fer_lightning.look.measure import measure
from fer_lightning.look.methods.grad_cam import grad_cam
from fer_lightning.models import CNN, ViT
from fer_lightning.runs.files import DEFAULT_METHODS
from fer_lightning.tracking.tracker import MetricsCSV
from fer_lightning.training.module import Classifier


def run(folder, net, *callbacks, epochs=2, size=420):
    L.seed_everything(1, verbose=False)
    folder.mkdir(exist_ok=True)
    data = FERDataModule(source="drawn", drawn=Drawn(size=size), batch_size=128)
    module = Classifier(net)
    trainer = L.Trainer(
        accelerator="cpu",
        max_epochs=epochs,
        logger=MetricsCSV(folder / "metrics.csv"),
        callbacks=list(callbacks),
        default_root_dir=folder,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        num_sanity_val_steps=0,
        use_distributed_sampler=False,
    )
    trainer.fit(module, data)
    before = {k: v.clone() for k, v in module.state_dict().items()}
    trainer.test(module, data, verbose=False)
    for name, value in module.state_dict().items():
        assert torch.equal(value, before[name]), f"the test changed {name}"
    return trainer, module, data


@pytest.fixture(scope="module")
def looked(tmp_path_factory):
    folder = tmp_path_factory.mktemp("looked")
    net = ViT(dim=32, depth=2, heads=2)
    callbacks = (
        GradCAMCallback(samples=30),
        FocusCallback(samples=20),
        EmbeddingCallback(every_n_epochs=2, samples=40, perplexity=5),
        AttentionCallback(),
        ConfusionCallback(),
    )
    return folder, *run(folder, net, *callbacks)


def test_every_picture_is_there_and_is_a_picture(looked):
    folder = looked[0]
    expected = {
        *(f"{kind}/epoch_00{i}.png" for i in (0, 1) for kind in ("gradcam", "focus", "confusion")),
        *(f"{kind}/epoch_00{i}.png" for i in (0, 1) for kind in ("attention", "positions")),
        *(f"focus_gradient/{name}.png" for name in ("epoch_000", "epoch_001", "test")),
        "tsne/epoch_001.png",
        *(f"{kind}/test.png" for kind in ("gradcam", "focus", "confusion", "attention")),
        *(f"{kind}/test.png" for kind in ("positions", "tsne", "reliability")),
    }
    found = {str(path.relative_to(folder)) for path in folder.rglob("*.png")}
    assert found == expected
    assert all((folder / name).read_bytes()[:4] == b"\x89PNG" for name in found)


def test_logged_numbers_are_those_of_the_maps(looked):
    folder, trainer, module, data = looked
    rows = probe_rows(data.split.test, 20, 0, data.image_set.fingerprint)
    images = torch.from_numpy(data.image_set.images[rows].copy()).float() / 255
    heat = to_heat(grad_cam(module.net, images).signed, 48)
    expected = measure(heat, torch.from_numpy(masks_for(data.image_set, rows)), FACE)
    lfr = expected["lfr"][:, FACE.row("key")]
    logged = trainer.callback_metrics
    assert logged["test/lfr/key"].item() == pytest.approx(lfr.nanmean().item(), rel=1e-4)
    assert logged["test/zero_maps"].item() == lfr.isnan().sum().item()
    saved = list(csv.DictReader((folder / "focus_samples.csv").read_text().splitlines()))
    assert {row["method"] for row in saved} == set(DEFAULT_METHODS)
    saved = [row for row in saved if row["method"] == "grad_cam"]
    assert [row["resolution"] for row in saved] == ["native", "matched"] * 20
    saved = saved[::2]
    assert [int(row["row"]) for row in saved] == rows.tolist()
    for row, value in zip(saved, lfr.tolist(), strict=True):
        assert (
            row["lfr_key"] in ("", "nan")
            if np.isnan(value)
            else float(row["lfr_key"]) == pytest.approx(value, rel=1e-4)
        )


def test_focus_over_epochs_has_the_model_and_the_nulls(looked):
    rows = list(csv.DictReader((looked[0] / "focus_epochs.csv").read_text().splitlines()))
    rows = [row for row in rows if row["method"] == "grad_cam"]
    of_model = [r for r in rows if r["maps"] == "model" and r["region"] == "key"]
    assert [row["epoch"] for row in of_model] == ["0", "1"]
    uniform = next(r for r in rows if r["maps"] == "uniform" and r["region"] == "key")
    assert float(uniform["median"]) == pytest.approx(1, abs=1e-6)
    metrics = list(csv.DictReader((looked[0] / "metrics.csv").read_text().splitlines()))
    for row, logged in zip(of_model, metrics, strict=True):
        if row["mean"] not in ("", "nan"):
            assert float(row["mean"]) == pytest.approx(float(logged["val/lfr/key"]), rel=1e-4)


def test_the_final_table_holds_controls(looked):
    rows = list(csv.DictReader((looked[0] / "focus.csv").read_text().splitlines()))
    assert {"model", "uniform", "untrained", "random_grid"} <= {row["source"] for row in rows}
    assert {row["resolution"] for row in rows} == {"native", "matched"}


def test_features_and_maps_are_kept(looked):
    folder = looked[0]
    features = np.load(folder / "features.npz")
    assert features["features"].shape == (40, 32)
    assert features["points"].shape == (40, 2)
    assert np.load(folder / "maps.npz")["heat"].shape == (20, 48, 48)


def test_looking_changes_no_training(tmp_path):
    looks = (FocusCallback(samples=5), GradCAMCallback(samples=14))
    nets = []
    for name, callbacks in (("plain", ()), ("watched", looks)):
        L.seed_everything(1, verbose=False)
        net = CNN(widths=(2, 2, 4, 4), feature_width=8)
        run(tmp_path / name, net, *callbacks, size=140)
        nets.append(net)
    for a, b in zip(*(net.parameters() for net in nets), strict=True):
        assert torch.equal(a, b)


def test_a_model_without_attention_is_left_out_once(tmp_path):
    with pytest.warns(UserWarning, match="AttentionCallback leaves this run out") as told:
        run(tmp_path, CNN(widths=(2, 2, 4, 4), feature_width=8), AttentionCallback(), size=140)
    told = [w for w in told if "AttentionCallback" in str(w.message)]
    assert len(told) == 1
    assert not (tmp_path / "attention").exists()


def test_too_few_images_for_tsne_are_told(tmp_path):
    net = CNN(widths=(2, 2, 4, 4), feature_width=8)
    with pytest.warns(
        UserWarning, match=r"^t-SNE is left out: \d+ images are too few \(more than 30 needed\)$"
    ):
        run(tmp_path, net, EmbeddingCallback(every_n_epochs=1), epochs=1, size=140)


def test_curves_survive_a_checkpoint():
    first, second = FocusCallback(), FocusCallback()
    first.rows = [{"method": "occlusion", "epoch": 0, "maps": "model", "mean": 1.5}]
    state = json.loads(json.dumps(first.state_dict()))
    second.stage = "test"
    second.load_state_dict(state)
    assert second.rows == []
    second.stage = "fit"
    second.load_state_dict(state)
    assert second.rows == first.rows


@pytest.mark.parametrize("option", ["every_n_epochs", "samples"])
def test_impossible_options(option):
    with pytest.raises(UserError, match=f"expected {option} of at least 1 but got 0"):
        FocusCallback(**{option: 0})
