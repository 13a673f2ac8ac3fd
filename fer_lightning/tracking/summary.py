"""The last screen of a run: what came out and where it lies."""

from datetime import timedelta
from typing import Any

from rich.console import Group
from rich.table import Table
from rich.text import Text

MOST_CLASSES = 8  # side by side: seven expressions and contempt fit into 80 columns
LEAK = (
    "Note: {images} test images have an identical twin among the training images: "
    "accuracy {acc:.3f} there, {acc_others:.3f} elsewhere"
)


def summary_table(summary: dict[str, Any], folder: str) -> Group:
    """Lay out a run's summary for the terminal."""
    numbers = Table(title=f"{summary['model']} on {summary['data']}", title_style="bold")
    for name in ("", "accuracy", "macro-F1", "NLL", "ECE (floor)", "images"):
        numbers.add_column(name, justify="left" if not name else "right")
    for stage, label in _labels(summary).items():
        found = summary.get(stage)
        if found:
            ece = f"{found['ece']:.3f} ({found['ece_floor']:.3f})"
            cells = (f"{found[name]:.3f}" for name in ("acc", "macro_f1", "nll"))
            numbers.add_row(label, *cells, ece, str(found["images"]))
    recall = (summary.get("test") or summary["val"])["recall"]
    starts = range(0, len(recall), MOST_CLASSES)
    recalls = [_recall_table(dict([*recall.items()][i : i + MOST_CLASSES])) for i in starts]
    epochs = ""
    if summary["best_epoch"] is not None:  # counted from 0 in files and from 1 on the screen
        time = timedelta(seconds=round(summary["seconds"]))
        epochs = f"{summary['epochs']} epochs (best: {summary['best_epoch'] + 1}) in {time} "
    twins = summary.get("leaking")
    lines = [
        f"{summary['parameters']:,} parameters, "
        f"{summary['multiply_adds'] / 1e6:.1f} M multiply-adds per image",
        f"{epochs}on {summary['hardware']}",
        *(f"Note: {line}" for line in summary["substitutions"]),
        *([LEAK.format(**twins)] if twins else []),
        f"Everything lies in {folder}",
    ]
    return Group(numbers, *recalls, *map(Text, lines))


def _recall_table(recall: dict[str, float | None]) -> Table:
    table = Table(title="recall by class", title_style="")
    for name in recall:
        table.add_column(name, justify="right")
    table.add_row(*("-" if r is None else f"{r:.3f}" for r in recall.values()))
    return table


def _labels(summary: dict[str, Any]) -> dict[str, str]:
    """What each stage measured; without validation images the best epoch was chosen by the test."""
    chosen_by_test = summary.get("split", {}).get("protocol") == "train_test"
    if chosen_by_test and summary["best_epoch"] is not None:
        return {"val": "test, best epoch (optimistic)", "test": "test, last epoch"}
    return {"val": "validation", "test": "test"}
