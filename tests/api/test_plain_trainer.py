"""Our callbacks in somebody else's Trainer: their module, their data, their logger."""

from pathlib import Path

import lightning as L
import numpy as np
import pandas as pd
import pytest
import torch
from lightning.pytorch.loggers import CSVLogger, TensorBoardLogger
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import fer_lightning as fl
from fer_lightning.callbacks import (
    ConfusionCallback,
    EmbeddingCallback,
    FocusCallback,
    GradCAMCallback,
)
from fer_lightning.runs.files import DEFAULT_METHODS

SIZES = {"num_classes": 3, "in_chans": 1, "image_size": 32}
PICTURES = ("gradcam", "focus", "tsne", "confusion")
KEYS = {"val/lfr/key", "val/lsi", "val/background", "val/embedding/knn_features"}


class TheirModule(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.model = fl.create_model("cnn", widths=(4, 4, 8, 8), feature_width=16, **SIZES)

    def training_step(self, batch, batch_idx):
        x, y = batch
        return nn.functional.cross_entropy(self.model(x), y)

    def validation_step(self, batch, batch_idx):
        x, y = batch
        self.log("val_loss", nn.functional.cross_entropy(self.model(x), y))

    test_step = validation_step

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), 1e-3)


class TheirData(L.LightningDataModule):
    def setup(self, stage):
        rng = torch.Generator().manual_seed(0)
        x = torch.randn(90, 1, 32, 32, generator=rng)  # standardised, not in [0, 1]
        self.data = TensorDataset(x, torch.arange(90) % 3)

    def train_dataloader(self):
        return DataLoader(self.data, 30)

    val_dataloader = test_dataloader = train_dataloader


def looks():
    return [
        GradCAMCallback(samples=12),
        FocusCallback(samples=8, face_template=True),
        EmbeddingCallback(every_n_epochs=1, samples=40, perplexity=5),
        ConfusionCallback(),
    ]


def run(logger, folder, callbacks=None):
    torch.manual_seed(0)
    trainer = L.Trainer(
        max_epochs=1,
        accelerator="cpu",
        logger=logger,
        callbacks=looks() if callbacks is None else callbacks,
        default_root_dir=folder,
        enable_progress_bar=False,
        enable_model_summary=False,
        enable_checkpointing=False,
    )
    module, data = TheirModule(), TheirData()
    trainer.fit(module, data)
    logged = dict(trainer.callback_metrics)
    trainer.test(module, data, verbose=False)
    return module, logged | dict(trainer.callback_metrics)


def check_files(folder):
    for kind in PICTURES:
        assert (folder / kind / "epoch_000.png").stat().st_size > 1000
        assert (folder / kind / "test.png").stat().st_size > 1000
    assert (folder / "reliability" / "test.png").is_file()
    focus = pd.read_csv(folder / "focus.csv")
    assert set(focus["method"]) == set(DEFAULT_METHODS)
    assert {"model", "uniform", "untrained"} <= set(focus["source"])
    assert len(pd.read_csv(folder / "focus_epochs.csv"))
    with np.load(folder / "features.npz") as arrays:
        assert arrays["features"].shape == (40, 16)


@pytest.fixture(scope="module")
def with_csv(tmp_path_factory):
    folder = tmp_path_factory.mktemp("csv")
    logger = CSVLogger(folder, name="theirs")
    _, logged = run(logger, folder)
    return logger, logged


def test_csv_logger(with_csv):
    logger, logged = with_csv
    assert set(logged) >= KEYS | {key.replace("val/", "test/") for key in KEYS}
    table = pd.read_csv(f"{logger.log_dir}/metrics.csv")
    assert set(table) >= KEYS
    assert table["val/lfr/key"].notna().any()


def test_files_lie_where_the_logger_writes(with_csv):
    check_files(Path(with_csv[0].log_dir))


def test_tensorboard_logger(tmp_path):
    logger = TensorBoardLogger(tmp_path, name="theirs")
    run(logger, tmp_path, [GradCAMCallback(samples=12), ConfusionCallback()])
    events = EventAccumulator(logger.log_dir).Reload()
    assert {"val/gradcam", "test/gradcam", "val/confusion"} <= set(events.Tags()["images"])
    assert (tmp_path / "theirs" / "version_0" / "gradcam" / "test.png").is_file()


def test_no_logger(tmp_path):
    _, logged = run(False, tmp_path)
    assert set(logged) >= KEYS
    check_files(tmp_path)


def test_looking_changes_nothing(tmp_path):
    looked, _ = run(False, tmp_path / "a")
    alone, _ = run(False, tmp_path / "b", callbacks=[])
    for name, weight in alone.state_dict().items():
        assert torch.equal(weight, looked.state_dict()[name]), name


def test_data_that_nobody_calls_faces_get_no_focus_numbers(tmp_path):
    with pytest.warns(UserWarning, match="FocusCallback leaves this run out: .* face_template"):
        _, logged = run(False, tmp_path, [FocusCallback(samples=8)])
    assert not [key for key in logged if "lfr" in key]
    assert not (tmp_path / "focus.csv").exists()
