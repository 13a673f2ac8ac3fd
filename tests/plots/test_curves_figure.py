import math

import numpy as np
import pytest

from fer_lightning.plots.curves import training_curves

ROWS = [
    {"epoch": 0, "train/loss": 2.0, "val/loss": 1.9, "train/acc": 0.2, "val/acc": 0.25},
    {"epoch": 1, "train/loss": 1.5, "val/loss": 1.6, "train/acc": 0.4, "val/acc": 0.45},
    {"epoch": 2, "train/loss": 1.1, "val/loss": 1.7, "train/acc": 0.6, "val/acc": 0.41},
]


def heights(axes):
    return [np.asarray(line.get_ydata()).tolist() for line in axes.lines]


def test_loss_and_accuracy_of_both_parts_and_the_best_epoch(complete):
    figure = training_curves(ROWS, "cnn · drawn faces · 0123", majority=0.25)
    loss, accuracy = figure.axes
    assert heights(loss)[:2] == [[2.0, 1.5, 1.1], [1.9, 1.6, 1.7]]
    assert heights(accuracy)[:2] == [[0.2, 0.4, 0.6], [0.25, 0.45, 0.41]]
    assert loss.lines[2].get_xdata()[0] == accuracy.lines[2].get_xdata()[0] == 2
    assert loss.lines[0].get_xdata().tolist() == [1, 2, 3], "people count epochs from 1"
    assert loss.get_xlabel() == accuracy.get_xlabel() == "epoch"
    assert accuracy.lines[3].get_ydata()[0] == 0.25
    names = [text.get_text() for text in figure.legends[0].get_texts()]
    assert names == ["training", "validation", "largest class alone"]
    assert figure.get_supxlabel().startswith("Best validation accuracy 0.450 in epoch 2")
    complete(figure)


def test_text_from_a_file_and_gaps(complete):
    rows = [{k: str(v) for k, v in row.items()} for row in ROWS]
    rows[1]["val/acc"] = ""
    figure = training_curves(rows)
    known = heights(figure.axes[1])[1]
    assert (known[0], known[2]) == (0.25, 0.41)
    assert math.isnan(known[1])
    assert "in epoch 3" in figure.get_supxlabel()
    complete(figure)


@pytest.mark.parametrize("epochs", [1, 2, 3])
def test_few_epochs_have_whole_numbers_as_ticks(epochs):
    figure = training_curves(ROWS[:epochs])
    figure.draw_without_rendering()
    low, high = figure.axes[0].get_xlim()
    ticks = [tick for tick in figure.axes[0].get_xticks() if low <= tick <= high]
    assert ticks == list(range(1, epochs + 1))


def test_one_epoch_no_rows_and_nan_only(texts, complete):
    complete(training_curves(ROWS[:1]))
    empty = training_curves([])
    assert "no loss in these rows" in texts(empty)
    assert "no accuracy in these rows" in texts(empty)
    assert empty.get_supxlabel() == "No validation accuracy."
    complete(empty)
    only_loss = training_curves([{"epoch": 0, "train/loss": 1.0, "val/acc": math.nan}])
    assert "no accuracy in these rows" in texts(only_loss)
    assert len(only_loss.axes[0].lines) == 1
