"""What FocusCallback measures with, and how often."""

import json

import lightning as L
import numpy as np
import pytest
import torch

from fer_lightning.callbacks import FocusCallback
from fer_lightning.data.datamodule import Drawn, FERDataModule
from fer_lightning.data.masks import image_key
from fer_lightning.look.callbacks import focus as focus_module
from fer_lightning.look.callbacks.look import LookContext
from fer_lightning.models import CNN
from fer_lightning.tracking.tracker import MetricsCSV
from fer_lightning.training.module import Classifier


def trainer_in(folder, *callbacks, epochs):
    return L.Trainer(
        accelerator="cpu",
        max_epochs=epochs,
        logger=MetricsCSV(folder / "metrics.csv"),
        callbacks=list(callbacks),
        default_root_dir=folder,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        num_sanity_val_steps=0,
    )


def net():
    return CNN(image_size=32, widths=(4, 4, 4, 4), feature_width=8)


def test_null_maps_are_made_once(tmp_path, monkeypatch):
    calls = []
    made = focus_module.null_sources
    monkeypatch.setattr(
        focus_module, "null_sources", lambda *given: calls.append(1) or made(*given)
    )
    data = FERDataModule(source="drawn", drawn=Drawn(size=140, image_size=32))
    callback = FocusCallback(samples=6)
    trainer_in(tmp_path, callback, epochs=3).fit(Classifier(net()), data)
    assert len(calls) == len(callback.methods) == 2  # once by each method
    by_maps = {}
    for row in callback.rows:
        by_maps.setdefault(row["maps"], set()).add(row["epoch"])
    assert by_maps["model"] == {0, 1, 2}
    assert by_maps["uniform"] == {""}


def test_landmarks_are_used(tmp_path):
    """A landmark file puts every region of an image elsewhere than the template does."""
    drawn = FERDataModule(source="drawn", drawn=Drawn(size=28, image_size=32)).image_set
    square = {
        name: [[[1, 1 + 4 * k], [6, 1 + 4 * k], [6, 4 + 4 * k], [1, 4 + 4 * k]]]
        for k, name in enumerate(("eyes", "eyebrow", "nose", "mouth", "face"))
    }
    path = tmp_path / "landmarks.json"
    path.write_text(json.dumps({image_key(image): {"regions": square} for image in drawn.images}))
    from dataclasses import replace

    found = {}
    for landmarks in (None, str(path)):
        data = FERDataModule(landmarks=landmarks)
        data.image_set = replace(drawn, masks=None, mask_regions=())
        trainer = trainer_in(tmp_path, epochs=1)
        trainer.datamodule = data
        context = LookContext(trainer, Classifier(net()), "val")
        sample, probe = context.sample(context.probe(5, 0))
        found[landmarks] = sample.masks
        assert len(probe.rows) == len(sample.labels)
    nose = found[str(path)][0, sample.regions.order.index("nose")]
    assert np.argwhere(nose.numpy()).min(0).tolist() == [9, 1]
    assert not torch.equal(found[None], found[str(path)])


def test_a_method_that_is_none():
    with pytest.raises(ValueError, match="did you mean 'grad_cam'"):
        FocusCallback(methods=["gradcam"])
