"""Grad-CAM wherever a callback may ask for it."""

import lightning as L
import pytest
import torch
from left_as_found import IMAGES, assert_same, snapshot
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from fer_lightning.look.methods.grad_cam import grad_cam
from fer_lightning.models import CNN


class Watched(L.LightningModule):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.net = CNN()

    def training_step(self, batch, _):
        return nn.functional.cross_entropy(self.net(batch[0]), batch[1])

    def validation_step(self, batch, _):
        self.net(batch[0])

    test_step = validation_step

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters())


class Look(L.Callback):
    """Asks for maps wherever a callback might, and notes what changed."""

    def __init__(self):
        self.seen = {}

    def look(self, where, module, images):
        before = snapshot(module.net)
        cam = grad_cam(module.net, images)
        assert_same(before, snapshot(module.net))
        assert cam.signed.any()
        self.seen[where] = before["switches"]

    def on_train_batch_end(self, trainer, module, outputs, batch, batch_idx):
        self.look("train batch", module, batch[0])

    def on_validation_batch_end(self, trainer, module, outputs, batch, *_):
        self.look("validation batch", module, batch[0])

    def on_validation_epoch_end(self, trainer, module):
        self.look("validation epoch", module, IMAGES)

    def on_train_epoch_end(self, trainer, module):
        self.look("train epoch", module, IMAGES)

    def on_test_batch_end(self, trainer, module, outputs, batch, *_):
        self.look("test batch", module, batch[0])

    def on_test_epoch_end(self, trainer, module):
        self.look("test epoch", module, IMAGES)


def trainer_and_data(callbacks, precision="32-true"):
    trainer = L.Trainer(
        max_epochs=1,
        accelerator="cpu",
        precision=precision,
        callbacks=callbacks,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    return trainer, DataLoader(TensorDataset(IMAGES, torch.tensor([0, 1, 2, 3])), batch_size=4)


@pytest.mark.parametrize("precision", ["32-true", "bf16-mixed", "bf16-true"])
def test_inside_a_trainer(precision):
    look = Look()
    trainer, data = trainer_and_data([look], precision)
    module = Watched()
    trainer.fit(module, data, data)
    assert look.seen.keys() == {
        "train batch",
        "validation batch",
        "validation epoch",
        "train epoch",
    }
    assert look.seen["validation epoch"] == (False, False)  # no_grad
    trainer.validate(module, data, verbose=False)
    assert look.seen["validation epoch"] == (False, True)  # inference_mode
    trainer.test(module, data, verbose=False)
    assert look.seen["test batch"] == look.seen["test epoch"] == (False, True)


def test_a_run_ends_the_same_with_and_without_looking():
    def fit(callbacks):
        trainer, data = trainer_and_data(callbacks)
        module = Watched()
        trainer.fit(module, data, data)
        return module.state_dict()

    alone, watched = fit([]), fit([Look()])
    assert all(torch.equal(alone[key], watched[key]) for key in alone)
