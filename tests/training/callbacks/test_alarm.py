"""A loss that is no number is told once, on the terminal and on W&B."""

import warnings
from types import SimpleNamespace

import pytest
import torch

from fer_lightning.errors import Diverged
from fer_lightning.training.callbacks.early_stopping import LossAlarm
from fer_lightning.training.predictions import classification_metrics


class Phone:
    """A tracker that alerts."""

    def __init__(self):
        self.rang = []

    def alert(self, title, text):
        self.rang.append(title)


def trainer(train=0.5, val=0.5, fn="fit"):
    losses = {"train/loss": torch.tensor(train), "val/loss": torch.tensor(val)}
    return SimpleNamespace(
        callback_metrics=losses,
        current_epoch=3,
        loggers=[Phone(), object()],
        sanity_checking=False,
        state=SimpleNamespace(fn=fn),
    )


@pytest.mark.parametrize("losses", [{"train": float("nan")}, {"val": float("inf")}])
def test_it_is_told_once(losses):
    run, alarm = trainer(**losses), LossAlarm()
    with pytest.warns(
        UserWarning, match=r"After epoch 4 (train|val)/loss is (nan|inf).*--model.lr"
    ):
        alarm.on_validation_end(run, None)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        alarm.on_validation_end(run, None)
    assert run.loggers[0].rang == ["Loss is not a number"]


def test_numbers_are_fine():
    run = trainer()
    LossAlarm().on_validation_end(run, None)
    LossAlarm().on_validation_end(trainer(val=float("nan"), fn="validate"), None)
    assert run.loggers[0].rang == []


def test_a_model_that_has_diverged_ends_the_run_with_an_alert():
    run, alarm = trainer(), LossAlarm()
    with pytest.raises(Diverged) as found:
        classification_metrics(torch.full((2, 2), float("nan")), torch.tensor([0, 1]))
    with pytest.warns(UserWarning, match="the model has diverged"):
        alarm.on_exception(run, None, found.value)
    alarm.on_exception(run, None, KeyboardInterrupt())
    assert run.loggers[0].rang == ["Loss is not a number"]
