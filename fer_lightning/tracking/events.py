"""What TensorBoard's event files hold beside scalars: pictures, options of a run, its restart."""

import io
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from PIL import Image
from tensorboard.compat.proto.event_pb2 import Event, SessionLog
from tensorboard.compat.proto.summary_pb2 import Summary, SummaryMetadata
from tensorboard.compat.proto.tensor_pb2 import TensorProto
from tensorboard.compat.proto.tensor_shape_pb2 import TensorShapeProto
from tensorboard.compat.proto.types_pb2 import DT_STRING
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


def text_summary(name: str, text: str) -> Summary:
    """Return words as TensorBoard's text page reads them."""
    shape = TensorShapeProto(dim=[TensorShapeProto.Dim(size=1)])
    tensor = TensorProto(dtype=DT_STRING, string_val=[text.encode()], tensor_shape=shape)
    page = SummaryMetadata(plugin_data=SummaryMetadata.PluginData(plugin_name="text"))
    tag = f"{name}/text_summary"  # as PyTorch's writer names it
    return Summary(value=[Summary.Value(tag=tag, metadata=page, tensor=tensor)])


def as_text(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Write a table for TensorBoard's text page, whose own tables break words of many columns.

    What is the same in all rows is said once.

    >>> rows = [["model", "6x6", 1.23456], ["uniform", "6x6", None]]
    >>> print(as_text(["maps", "grid", "lfr"], rows))
    grid: 6x6
    <BLANKLINE>
    ```
    maps       lfr
    model    1.235
    uniform
    ```
    """
    cells = [[_cell(cell) for cell in row] for row in rows]
    found = list(zip(columns, zip(*cells, strict=True), strict=True)) if rows else []
    same = [(name, column[0]) for name, column in found if len({*column}) == 1 < len(rows)]
    told = ", ".join(f"{name}: {value or 'none'}" for name, value in same)
    known = {name for name, _ in same}
    aligned = [_aligned([name, *column]) for name, column in found if name not in known]
    lines = "\n".join("  ".join(line).rstrip() for line in zip(*aligned, strict=True))
    return f"{told}\n\n```\n{lines}\n```" if told else f"```\n{lines}\n```"


def _aligned(column: list[str]) -> list[str]:
    """Pad a column: numbers to the right, words to the left."""
    width = max(map(len, column))
    numbers = all(cell[-1:].isdigit() and cell[:1] in "-0123456789" for cell in column[1:] if cell)
    return [cell.rjust(width) if numbers else cell.ljust(width) for cell in column]


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.4g}" if isinstance(value, float) else str(value)
