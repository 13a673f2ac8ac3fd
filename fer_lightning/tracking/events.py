"""What TensorBoard's event files hold beside scalars: pictures, options of a run, its restart."""

import io
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from PIL import Image
from tensorboard.compat.proto.event_pb2 import Event, SessionLog
from tensorboard.compat.proto.summary_pb2 import Summary
from torch.utils.tensorboard.summary import hparams

from fer_lightning import keys
from fer_lightning.keys import key
from fer_lightning.tracking.hyperparameters import Value

SHOWN = 1000  # pixels: larger pictures are halved; the run folder has them as they were drawn
QUALITY = 85  # of JPEG: an eighth of the bytes, no difference to the eye
COMPARED = (key("val", keys.ACC), key("val", keys.BEST_ACC), key("test", keys.ACC))


def picture_summary(name: str, path: Path) -> Summary:
    """Return a picture as TensorBoard stores it, made smaller."""
    with Image.open(path) as opened:
        picture = opened.convert("RGB")
    picture = picture.reduce(max(1, math.ceil(picture.width / SHOWN)))
    file = io.BytesIO()
    picture.save(file, "JPEG", quality=QUALITY)
    image = Summary.Image(
        height=picture.height,
        width=picture.width,
        colorspace=3,  # RGB
        encoded_image_string=file.getvalue(),
    )
    return Summary(value=[Summary.Value(tag=name, image=image)])


def options_summaries(options: Mapping[str, Value]) -> tuple[Summary, Summary, Summary]:
    """Return what the HParams page reads: its columns, this run's values, and that it ended."""
    return hparams(dict(options), dict.fromkeys(COMPARED, 0.0))


def restart_event(epoch: int) -> Event:
    """Say that everything from an epoch on comes again: TensorBoard forgets what it had read."""
    return Event(step=epoch, session_log=SessionLog(status=SessionLog.START))


def final_scalars(summary: Mapping[str, Any]) -> dict[str, tuple[float, int]]:
    """Name and epoch of the numbers that only a finished run has.

    >>> final_scalars({"val": {"acc": 0.5, "epoch": 3}, "best_epoch": 3})
    {'val/best_acc': (0.5, 3)}
    """
    best = summary.get("val") or {}
    if "epoch" not in best:  # a checkpoint that was measured again
        return {}
    return {key("val", keys.BEST_ACC): (float(best[keys.ACC]), int(best["epoch"]))}


def as_markdown(columns: list[str], rows: list[list[Any]]) -> str:
    """Write a table as TensorBoard's text page shows it.

    >>> print(as_markdown(["maps", "lfr"], [["model", 1.23456], ["uniform", None]]))
    | maps | lfr |
    |---|---|
    | model | 1.235 |
    | uniform |  |
    """
    lines = [columns, ["---"] * len(columns), *([_cell(cell) for cell in row] for row in rows)]
    text = "\n".join("| " + " | ".join(line) + " |" for line in lines)
    return text.replace("| --- ", "|---").replace("--- |", "---|")


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.4g}" if isinstance(value, float) else str(value)
