"""What TensorBoard's event files hold, and the files of its projector; imports no torch."""

import io
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
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
from fer_lightning.runs.folder import atomic

SECTIONS = ("model", "data", "early_stopping")
TRAINER = ("max_epochs", "precision", "gradient_clip_val", "accumulate_grad_batches")
NOT_COMPARED = frozenset(
    ["data_dir", "cache_dir", "num_workers", "eval_batch_size", "predict_part", "files", "compile"]
)
MAX_PIXELS = 50_000_000  # of a picture in a run folder; ours have a tenth
SHOWN = 1000  # pixels: larger pictures are halved; the run folder has them as they were drawn
QUALITY = 85  # of JPEG; of a Grad-CAM picture's bytes a seventh remains
COMPARED = (key("val", keys.BEST_ACC), key("test", keys.ACC), key("val", keys.ACC))
CONFIG = "projector_config.pbtxt"
PART = ".points"  # one set's part of the configuration
LARGEST = 64  # pixels of a face's side: 16,000 of them fit into what a graphics card takes
MOST = 8192 // LARGEST  # faces in a row: the picture may be 8192 pixels wide and high
Value = bool | int | float | str


def hyperparameters(config: Mapping[str, Any]) -> dict[str, Value]:
    """Flatten a run's configuration under the names that its options have.

    >>> net = {"class_path": "fer_lightning.models.ViT", "init_args": {"depth": 4, "keep": None}}
    >>> hyperparameters({"seed_everything": 1, "model": {"net": net}, "runs_dir": "runs"})
    {'seed_everything': 1, 'model.net': 'ViT', 'model.net.depth': 4}
    """
    trainer = config.get("trainer") or {}
    chosen = {
        "seed_everything": config.get("seed_everything"),
        **{name: config.get(name) or {} for name in SECTIONS},
        "trainer": {name: trainer.get(name) for name in TRAINER if name in trainer},
    }
    return dict(_flat(chosen, ""))


def _flat(value: Any, name: str) -> Iterator[tuple[str, Value]]:
    """Yield what can be compared: numbers, words and yes or no."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if key == "class_path":
                yield name, str(inner).rsplit(".", 1)[-1]
            elif key not in NOT_COMPARED:
                here = name if key == "init_args" else f"{name}.{key}".lstrip(".")
                yield from _flat(inner, here)
    elif isinstance(value, bool | int | float | str):
        yield name, value
    elif isinstance(value, list | tuple) and value:
        yield name, ", ".join(map(str, value))


def picture_summary(name: str, path: Path) -> Summary:
    """Return a PNG file as TensorBoard stores it, made smaller.

    Raises:
        ValueError: it has more pixels than any picture of a run.
    """
    with Image.open(path, formats=("PNG",)) as opened:
        if opened.width * opened.height > MAX_PIXELS:
            raise ValueError(f"{opened.width}x{opened.height} pixels")
        picture = opened.convert("RGB")
    picture = picture.reduce(max(1, math.ceil(picture.width / SHOWN)))
    file = io.BytesIO()
    picture.save(file, "JPEG", quality=QUALITY)
    size = {"height": picture.height, "width": picture.width, "colorspace": 3}  # RGB
    image = Summary.Image(**size, encoded_image_string=file.getvalue())
    return Summary(value=[Summary.Value(tag=name, image=image)])


def options_summaries(options: Mapping[str, Value]) -> tuple[Summary, Summary, Summary]:
    """Return what the HParams page reads: its columns, this run's values, and that it ended."""
    columns = api.Experiment(
        hparam_infos=[api.HParamInfo(name=k, type=_kind(v)[0]) for k, v in options.items()],
        metric_infos=[api.MetricInfo(name=api.MetricName(tag=name)) for name in COMPARED],
    )
    values = SessionStartInfo()
    for name, value in options.items():
        setattr(values.hparams[name], _kind(value)[1], value)
    ended = SessionEndInfo(status=api.STATUS_SUCCESS)
    return (
        _compared(metadata.EXPERIMENT_TAG, experiment=columns),
        _compared(metadata.SESSION_START_INFO_TAG, session_start_info=values),
        _compared(metadata.SESSION_END_INFO_TAG, session_end_info=ended),
    )


def _kind(value: Value) -> tuple[int, str]:
    """Return the type of a value and the field that holds it."""
    if isinstance(value, bool):
        return api.DATA_TYPE_BOOL, "bool_value"
    if isinstance(value, str):
        return api.DATA_TYPE_STRING, "string_value"
    return api.DATA_TYPE_FLOAT64, "number_value"


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
    """Validation accuracy and epoch of the best checkpoint, None where nothing was trained."""
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
    """
    cells = [[_cell(cell) for cell in row] for row in rows]
    found = list(zip(columns, zip(*cells, strict=True), strict=True)) if rows else []
    same = [(name, column[0]) for name, column in found if len({*column}) == 1 < len(rows)]
    once = ", ".join(f"{name}: {value or 'none'}" for name, value in same)
    known = {name for name, _ in same}
    aligned = [_aligned([name, *column]) for name, column in found if name not in known]
    lines = "\n".join("  ".join(line).rstrip() for line in zip(*aligned, strict=True))
    return f"{once}\n\n```\n{lines}\n```" if once else f"```\n{lines}\n```"


def _aligned(column: list[str]) -> list[str]:
    """Pad a column: numbers to the right, words to the left."""
    width = max(map(len, column))
    numbers = all(cell[-1:].isdigit() and cell[:1] in "-0123456789" for cell in column[1:] if cell)
    return [cell.rjust(width) if numbers else cell.ljust(width) for cell in column]


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def write_projector(
    folder: Path,
    name: str,
    features: NDArray[np.floating[Any]],
    labels: list[str],
    faces: NDArray[np.uint8],
) -> None:
    """Write one set of points; those of other names stay, earlier ones of this name are replaced.

    Features are (N, D), faces (N, C, H, W). All paths are relative, so that a moved folder still
    shows.
    """
    stem = name.replace("/", "_")
    count = min(len(features), MOST**2)
    with atomic(folder / f"{stem}.tensor", "wb") as file:
        file.write(_tensor(np.nan_to_num(features[:count].astype(np.float32))))
    with atomic(folder / f"{stem}_labels.tsv") as file:
        rows = (f"{label}\t{place}\n" for place, label in enumerate(labels[:count]))
        file.writelines(["label\timage\n", *rows])
    sprite, size = _sprite(faces[:count])
    with atomic(folder / f"{stem}.png", "wb") as file:
        sprite.save(file, "PNG")
    with atomic(folder / f"{stem}{PART}") as file:
        file.write(_entry(stem, (count, features.shape[1]), size))
    with atomic(folder / CONFIG) as file:  # last: it names files that are there
        file.writelines(part.read_text() for part in sorted(folder.glob(f"*{PART}")))


def _sprite(faces: NDArray[np.uint8]) -> tuple[Image.Image, tuple[int, int]]:
    """Lay faces out in a square, row by row; return the picture and the size of one face."""
    count, channels, height, width = faces.shape
    images = [
        Image.fromarray(face[0] if channels == 1 else face.transpose(1, 2, 0)) for face in faces
    ]
    scale = min(1, LARGEST / max(height, width))
    size = max(1, round(width * scale)), max(1, round(height * scale))
    columns = math.ceil(math.sqrt(count))
    sheet = Image.new(images[0].mode, (columns * size[0], columns * size[1]))
    for place, image in enumerate(images):
        row, column = divmod(place, columns)
        sheet.paste(image if scale == 1 else image.resize(size), (column * size[0], row * size[1]))
    return sheet, size


def _tensor(features: NDArray[np.float32]) -> bytes:
    """Write floats as they are, or as text where TensorBoard would take them for text."""
    plain = features.tobytes()
    try:
        plain.decode()
    except UnicodeDecodeError:  # how TensorBoard, too, tells them apart
        return plain
    return "".join("\t".join(map(str, row)) + "\n" for row in features.tolist()).encode()


def _entry(stem: str, shape: tuple[int, int], size: tuple[int, int]) -> str:
    """One set of points in TensorBoard's configuration (protobuf's text format)."""
    return (
        "embeddings {\n"
        f'  tensor_name: "{stem}" tensor_path: "{stem}.tensor"\n'
        f"  tensor_shape: {shape[0]} tensor_shape: {shape[1]}\n"
        f'  metadata_path: "{stem}_labels.tsv"\n'
        f'  sprite {{ image_path: "{stem}.png" single_image_dim: {size[0]} '
        f"single_image_dim: {size[1]} }}\n}}\n"
    )
