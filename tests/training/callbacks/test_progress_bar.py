"""What stands on the terminal while a model trains."""

import io
import time
from types import SimpleNamespace

import pytest

from fer_lightning.screen import Screen
from fer_lightning.training.callbacks.progress import Progress


@pytest.mark.parametrize(("epochs", "words"), [(1, "1 epoch will"), (2, "2 epochs will")])
def test_how_long_it_takes_is_told_in_plain_words(epochs, words):
    told = io.StringIO()
    bar = Progress()
    bar.console = Screen(file=told)
    bar._began = bar._epoch_began = time.monotonic() - 1
    bar._trainer = trainer = SimpleNamespace(
        max_epochs=epochs,
        current_epoch=0,
        num_training_batches=4,
        world_size=1,
        datamodule=SimpleNamespace(batch_size=8),
    )
    bar._tell_how_long(trainer, 2)
    assert told.getvalue().startswith(f"{words} take less than a minute at ")
