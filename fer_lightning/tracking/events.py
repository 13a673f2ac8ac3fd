"""What TensorBoard's event files hold beside scalars: pictures, options of a run, its restart."""

import io
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from PIL import Image
from tensorboard.compat.proto.event_pb2 import Event, SessionLog
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.plugins.hparams import api_pb2 as api
from tensorboard.plugins.hparams import metadata
from tensorboard.plugins.hparams.plugin_data_pb2 import (
    HParamsPluginData,
    SessionEndInfo,
    SessionStartInfo,
)

from fer_lightning import keys
from fer_lightning.keys import key
from fer_lightning.tracking.hyperparameters import Value

SHOWN = 1000  # pixels: larger pictures are halved; the run folder has them as they were drawn
QUALITY = 85  # of JPEG; of a Grad-CAM picture's bytes a seventh remains
COMPARED = (key("val", keys.BEST_ACC), key("test", keys.ACC), key("val", keys.ACC))


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
    columns = api.Experiment(
        hparam_infos=[api.HParamInfo(name=k, type=_kind(v)) for k, v in options.items()],
        metric_infos=[api.MetricInfo(name=api.MetricName(tag=name)) for name in COMPARED],
    )
    values = SessionStartInfo()
    for name, value in options.items():
        setattr(values.hparams[name], _FIELDS[_kind(value)], value)
    ended = SessionEndInfo(status=api.STATUS_SUCCESS)
    return (
        _compared(metadata.EXPERIMENT_TAG, experiment=columns),
        _compared(metadata.SESSION_START_INFO_TAG, session_start_info=values),
        _compared(metadata.SESSION_END_INFO_TAG, session_end_info=ended),
    )


_FIELDS = {
    api.DATA_TYPE_BOOL: "bool_value",
    api.DATA_TYPE_FLOAT64: "number_value",
    api.DATA_TYPE_STRING: "string_value",
}


def _kind(value: Value) -> int:
    if isinstance(value, bool):
        return api.DATA_TYPE_BOOL
    return api.DATA_TYPE_STRING if isinstance(value, str) else api.DATA_TYPE_FLOAT64


def _compared(tag: str, **content: Any) -> Summary:
    about = metadata.create_summary_metadata(HParamsPluginData(**content))
    return Summary(value=[Summary.Value(tag=tag, metadata=about, tensor=metadata.NULL_TENSOR)])


def scalar_event(name: str, value: float, epoch: int, when: float) -> Event:
    """Return one point of a curve; `when` in seconds since 1970."""
    point = Summary.Value(tag=name, simple_value=value)
    return Event(step=epoch, wall_time=when, summary=Summary(value=[point]))


def restart_event(epoch: int) -> Event:
    """Say that everything from an epoch on comes again: TensorBoard forgets what it had read."""
    return Event(step=epoch, session_log=SessionLog(status=SessionLog.START))


def best_accuracy(summary: Mapping[str, Any]) -> tuple[float, int] | None:
    """Validation accuracy and epoch of the best checkpoint, None where nothing was trained.

    >>> best_accuracy({"val": {"acc": 0.5, "epoch": 3}})
    (0.5, 3)
    """
    best = summary.get("val") or {}
    return (float(best[keys.ACC]), int(best[keys.EPOCH])) if keys.EPOCH in best else None


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
