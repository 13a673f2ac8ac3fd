"""A confusion matrix as W&B itself shows it."""

from collections.abc import Sequence
from typing import Any

import wandb

COLUMNS = ("Actual", "Predicted", "nPredictions")  # of W&B's own chart


def confusion_rows(counts: Sequence[Sequence[int]], classes: Sequence[str]) -> list[list[Any]]:
    """Write a matrix as one row a pair of classes: true, predicted, images.

    >>> confusion_rows([[3, 1], [0, 2]], ["sad", "happy"])[:2]
    [['sad', 'sad', 3], ['sad', 'happy', 1]]
    """
    return [
        [actual, predicted, count]
        for actual, row in zip(classes, counts, strict=True)
        for predicted, count in zip(classes, row, strict=True)
    ]


def confusion_chart(
    title: str, counts: Sequence[Sequence[int]], classes: Sequence[str]
) -> wandb.plot.CustomChart:
    """Make W&B's chart of a matrix; logging it also logs a small table of its numbers.

    Args:
        title: above the chart.
        counts: images by true and by predicted class.
        classes: their names.
    """
    columns: list[Any] = [*COLUMNS]
    table = wandb.Table(columns, [*confusion_rows(counts, classes)])
    fields = {name: name for name in COLUMNS}
    return wandb.plot_table("wandb/confusion_matrix/v1", table, fields, {"title": title})
