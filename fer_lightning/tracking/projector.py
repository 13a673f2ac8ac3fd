"""Files for TensorBoard's projector: features, labels and one picture of all faces."""

import math
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from fer_lightning.tracking.run_folder import atomic

CONFIG = "projector_config.pbtxt"
PART = ".points"  # one set's part of the configuration
LARGEST = 64  # pixels of a face's side: 16,000 of them fit into what a graphics card takes
MOST = 8192 // LARGEST  # faces in a row: the picture may be 8192 pixels wide and high


def write_projector(
    folder: Path,
    name: str,
    features: NDArray[np.floating[Any]],
    labels: list[str],
    faces: NDArray[np.uint8],
) -> None:
    """Write one set of points; those of other names stay, earlier ones of this name are replaced.

    All paths are relative, so that a moved folder still shows.

    Args:
        folder: of the event files.
        name: of the points, such as ``val/features``.
        features: (N, D).
        labels: N names of classes.
        faces: (N, C, H, W), grey or colours.
    """
    stem = name.replace("/", "_")
    count = min(len(features), MOST**2)
    with atomic(folder / f"{stem}.tensor", "wb") as file:
        file.write(_tensor(np.nan_to_num(features[:count].astype(np.float32))))
    with atomic(folder / f"{stem}_labels.tsv") as file:
        rows = (f"{label}\t{place}\n" for place, label in enumerate(labels[:count]))
        file.writelines(["label\timage\n", *rows])
    sprite, size = sprite_of(faces[:count])
    with atomic(folder / f"{stem}.png", "wb") as file:
        sprite.save(file, "PNG")
    with atomic(folder / f"{stem}{PART}") as file:
        file.write(_entry(stem, (count, features.shape[1]), size))
    with atomic(folder / CONFIG) as file:  # last: it names files that are there
        file.writelines(part.read_text() for part in sorted(folder.glob(f"*{PART}")))


def sprite_of(faces: NDArray[np.uint8]) -> tuple[Image.Image, tuple[int, int]]:
    """Lay faces out in a square, row by row; return the picture and the size of one face.

    >>> picture, size = sprite_of(np.zeros((5, 1, 48, 40), np.uint8))
    >>> picture.size, size
    ((120, 144), (40, 48))
    """
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
    r"""Write floats as they are, or as text where TensorBoard would take them for text.

    >>> _tensor(np.zeros((2, 2), np.float32)), len(_tensor(np.full((2, 2), -1.5, np.float32)))
    (b'0.0\t0.0\n0.0\t0.0\n', 16)
    """
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
