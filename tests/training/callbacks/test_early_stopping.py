from types import SimpleNamespace

import pytest
import torch

from fer_lightning.training.callbacks.early_stopping import FairEarlyStopping

MAJORITY = 0.25


def run(accuracies, fn="fit", **options):
    """Feed validation accuracies epoch by epoch; return the number of epochs that ran."""
    stopping = FairEarlyStopping(patience=2, **options)
    trainer = SimpleNamespace(
        datamodule=SimpleNamespace(majority_share=lambda part: MAJORITY),
        callback_metrics={},
        loggers=[],
        current_epoch=0,
        should_stop=False,
        sanity_checking=False,
        fast_dev_run=False,
        state=SimpleNamespace(fn=fn),
        strategy=SimpleNamespace(reduce_boolean_decision=lambda decision, all: decision),
    )
    stopping._should_skip_check = lambda trainer: False
    for epoch, accuracy in enumerate(accuracies):
        trainer.current_epoch = epoch
        trainer.callback_metrics = {
            "val/acc": torch.tensor(accuracy),
            "val/top_class_share": torch.tensor(1.0 if accuracy <= MAJORITY else 0.5),
        }
        stopping.on_validation_end(trainer, None)
        if trainer.should_stop:
            return epoch + 1
    return len(accuracies)


def test_patience_counts_after_the_majority_baseline():
    assert run([0.30, 0.32, 0.31, 0.31, 0.31]) == 4


def test_a_run_at_the_baseline_is_not_stopped_and_says_so():
    with pytest.warns(UserWarning, match="After epoch 1 100% of the validation images"):
        assert run([0.25, 0.25, 0.25, 0.25, 0.25, 0.4, 0.39, 0.38, 0.37]) == 8


def test_to_the_letter_it_is_stopped():
    with pytest.warns(UserWarning, match="can be stopped for it"):
        assert run([0.25, 0.25, 0.25, 0.25, 0.4], wait_for_majority=False) == 3


def test_barely_above_the_baseline_is_not_learning():
    with pytest.warns(UserWarning, match="same class"):
        assert run([0.25, 0.255, 0.25, 0.25, 0.25, 0.25]) == 6


def test_a_measured_checkpoint_is_not_said_to_learn_nothing(recwarn):
    assert run([0.25], fn="validate") == 1
    assert not recwarn.list
