"""The most and least weighted images of an epoch, in a real run on drawn faces."""

import csv

import lightning as L
import pytest
import torch

from fer_lightning.callbacks import WeightingCallback
from fer_lightning.data.datamodule import Drawn, FERDataModule
from fer_lightning.errors import UserError
from fer_lightning.models import ViT
from fer_lightning.training.losses import AdaptiveWeighting
from fer_lightning.training.module import Classifier


def run(folder, module, callback, epochs=2):
    trainer = L.Trainer(
        accelerator="cpu",
        max_epochs=epochs,
        logger=False,
        callbacks=[callback],
        default_root_dir=folder,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        num_sanity_val_steps=0,
        use_distributed_sampler=False,
    )
    data = FERDataModule(source="drawn", drawn=Drawn(size=140), batch_size=32)
    trainer.fit(module, data)
    return trainer, data


def test_picture_and_table(tmp_path):
    L.seed_everything(3, verbose=False)
    module = Classifier(ViT(dim=16, depth=1, heads=2), lr=1e-2, weighting=AdaptiveWeighting(l2=0))
    trainer, data = run(tmp_path, module, WeightingCallback(every_n_epochs=2, images=3))
    assert [p.name for p in (tmp_path / "weighting").iterdir()] == ["epoch_001.png"]
    rows = list(csv.DictReader((tmp_path / "weights.csv").read_text().splitlines()))
    assert {row["epoch"] for row in rows} == {"1"}
    assert sorted(int(row["row"]) for row in rows) == sorted(data.split.train.tolist())
    weights = [float(row["weight"]) for row in rows]
    assert weights == sorted(weights, reverse=True)
    assert weights[0] > weights[-1]
    found = {int(r): (w, loss) for step in module.weighed for r, w, loss in zip(*step, strict=True)}
    for row in rows:
        weight, loss = found[int(row["row"])]
        assert float(row["weight"]) == pytest.approx(weight.item(), rel=1e-4)
        assert float(row["loss"]) == pytest.approx(loss.item(), rel=1e-4)
        assert row["label"] == data.classes[data.image_set.labels[int(row["row"])]]
    ranks = torch.tensor([weights, [float(row["loss"]) for row in rows]]).argsort(1).argsort(1)
    expected = torch.corrcoef(ranks.double())[0, 1].item()
    logged = trainer.callback_metrics["train/weight_loss_correlation"].item()
    assert logged == pytest.approx(expected, abs=1e-3)


def test_a_run_without_weighting_is_left_out(tmp_path):
    with pytest.warns(UserWarning, match="WeightingCallback leaves this run out"):
        run(tmp_path, Classifier(ViT(dim=16, depth=1, heads=2)), WeightingCallback(), epochs=1)
    assert not (tmp_path / "weights.csv").exists()


@pytest.mark.parametrize("option", ["every_n_epochs", "images"])
def test_impossible_options(option):
    with pytest.raises(UserError, match=f"{option} of at least 1 but got 0"):
        WeightingCallback(**{option: 0})
