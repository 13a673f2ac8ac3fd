"""The drawn defects written as a user's own folder of images and masks would look."""

from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from fer_lightning.data.defects.dataset import drawn_defects
from fer_lightning.errors import UserError

PAINTED = ("plate", "print", "defect")  # values 1, 2, 3; a later region covers an earlier one
REGIONS_YAML = """\
regions: {1: plate, 2: print, 3: defect}  # pixel value: name
unions: {all: [defect, print]}
primary: defect
outside: plate  # heat outside of it is background; every pixel that is not 0 belongs to it
"""


def write_defects(
    folder: Path | str,
    size: int = 2000,
    image_size: int = 48,
    seed: int = 0,
    difficulty: float = 0.5,
) -> Path:
    """Write the drawn defects as PNG files: images, label maps and the regions' names.

    ``images/<class>/000012.png`` is grey; ``masks/<class>/000012.png`` holds a region's value in
    each pixel: 0 background, 1 plate, 2 print, 3 defect; ``regions.yaml`` names the values. A
    pixel has one value, so the plate's mask has holes where print and defect are: the region
    named by ``outside`` therefore means every pixel that is not 0.

    Args:
        folder: a new or empty folder.
        size: how many plates, as in `drawn_defects`.
        image_size: height and width in pixels.
        seed: another seed, other plates.
        difficulty: 0 to 1.

    Returns:
        The folder.

    Raises:
        UserError: an argument outside its range, or a folder with something in it.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as place:
    ...     sorted(path.name for path in write_defects(place, size=6).iterdir())
    ['images', 'masks', 'regions.yaml']
    """
    folder = Path(folder)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UserError(
            f"expected a new or empty folder but got {folder}; name another one or empty it"
        )
    plates = drawn_defects(size, image_size, seed, difficulty)
    assert plates.masks is not None
    for kind in ("images", "masks"):
        for name in plates.classes:
            (folder / kind / name).mkdir(parents=True, exist_ok=True)
    for i, label in enumerate(plates.labels):
        name = f"{plates.classes[label]}/{i:06d}.png"
        masks = dict(zip(plates.mask_regions, plates.masks[i], strict=True))
        _write_png(folder / "images" / name, plates.images[i, 0])
        _write_png(folder / "masks" / name, label_map(masks))
    (folder / "regions.yaml").write_text(REGIONS_YAML, encoding="utf-8")
    return folder


def label_map(masks: dict[str, NDArray[np.bool_]]) -> NDArray[np.uint8]:
    """One picture (H, W) of region values from masks (H, W) by name."""
    values = np.zeros(masks["plate"].shape, np.uint8)
    for value, name in enumerate(PAINTED, start=1):
        values[masks[name]] = value
    return values


def _write_png(path: Path, pixels: NDArray[np.uint8]) -> None:
    written, data = cv2.imencode(".png", pixels)
    if not written:
        raise OSError(f"cannot encode {path}")
    path.write_bytes(data.tobytes())  # unlike imwrite, an error of the disk is heard
