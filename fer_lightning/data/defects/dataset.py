"""The drawn defects as a data set, from random numbers to pixels, masks and a user's folder."""

from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from fer_lightning.data.defects import surfaces
from fer_lightning.data.defects.layout import lay_out
from fer_lightning.data.defects.marks import DEFECTS, Layers, print_stamp, stamp_cells
from fer_lightning.data.faces.dataset import check_ranges, fingerprint, usage_in_runs
from fer_lightning.data.faces.paint import Brush
from fer_lightning.data.image_set import ImageSet
from fer_lightning.data.regions import Regions
from fer_lightning.errors import UserError

CLASSES = tuple(DEFECTS)
REGION_NAMES = ("defect", "print", "plate")
# Part of the fingerprint: raise it with every change to a plate's pixels or its label.
VERSION = 1
PLATE = Regions(
    subject="plate",
    parts=("defect", "print"),
    unions={"all": ("defect", "print")},
    primary="defect",
    outside="plate",
)
# Of random numbers: what no class knows, the defect's shape, and noise, which comes last and with
# numbers of its own, so that a plate looks the same at every size; and labels.
STREAMS, LABELS = (1, 2, 3), 4
PAINTED = ("plate", "print", "defect")  # values 1, 2, 3; a later region covers an earlier one
REGIONS_YAML = """\
regions: {1: plate, 2: print, 3: defect}  # pixel value: name
unions: {all: [defect, print]}
primary: defect
outside: plate  # heat outside of it is background; every pixel that is not 0 belongs to it
"""


def drawn_defects(
    size: int = 2000,
    image_size: int = 48,
    seed: int = 0,
    difficulty: float = 0.5,
    with_masks: bool = True,
) -> ImageSet:
    """Draw grey plates, each with one defect of six classes and a stamp that means nothing.

    Image i depends on (seed, i, options) only. Texture, light, stamp and places are drawn without
    knowledge of the class; defect and stamp never touch.

    Args:
        size: how many plates, 6 to 1,000,000; every class equally often.
        image_size: height and width in pixels, 32 to 512.
        seed: another seed, other plates.
        difficulty: 0 (clear, large defects on calm surfaces) to 1 (faint ones on busy surfaces).
        with_masks: also return the exact masks of defect, print and plate.

    Returns:
        The data set; masks are (N, 3, H, W) in the order of its `mask_regions`. The plate's mask
        covers print and defect too.

    Raises:
        UserError: an argument outside its range.

    >>> plates = drawn_defects(size=12)
    >>> plates.images.shape, plates.mask_regions, plates.files[7]
    ((12, 1, 48, 48), ('defect', 'print', 'plate'), np.str_('drawn/000007'))
    """
    check_ranges(
        "defects",
        size=(size, len(CLASSES), 1_000_000),
        image_size=(image_size, 32, 512),
        seed=(seed, 0, 2**63),
        difficulty=(difficulty, 0, 1),
    )
    images = np.empty((size, 1, image_size, image_size), np.uint8)
    regions = len(REGION_NAMES) if with_masks else 0
    masks = np.empty((size, regions, image_size, image_size), bool)
    labels = _labels(size, seed)
    for i, label in enumerate(labels):
        images[i, 0], mask = _render((seed, i), CLASSES[label], image_size, difficulty)
        masks[i] = mask[:regions]
    return ImageSet(
        name="drawn defects",
        images=images,
        labels=labels,
        usage=usage_in_runs(size, len(CLASSES)),
        classes=CLASSES,
        files=np.array([f"drawn/{i:06d}" for i in range(size)]),
        masks=masks if with_masks else None,
        mask_regions=REGION_NAMES if with_masks else (),
        scheme=PLATE,
        independent=True,
        known_fingerprint=fingerprint(
            "defects", VERSION, size, image_size, seed, float(difficulty)
        ),
    )


def _labels(size: int, seed: int) -> NDArray[np.int64]:
    """All classes in each run of six images, in an order of its own."""
    kinds = len(CLASSES)
    runs = [
        np.random.default_rng([seed, start, LABELS]).permutation(kinds)
        for start in range(0, size, kinds)
    ]
    return np.concatenate(runs)[:size].astype(np.int64)


def _render(
    seeds: tuple[int, int], defect: str, image_size: int, difficulty: float
) -> tuple[NDArray[np.uint8], NDArray[np.bool_]]:
    """Draw one plate: the picture (H, W), and the masks (3, H, W) of REGION_NAMES.

    `seeds` are the data set's and the picture's index in it; `defect`, a name in `marks.DEFECTS`,
    decides the defect's shape and nothing else.
    """
    rng, own, grain = (np.random.default_rng([*seeds, stream]) for stream in STREAMS)
    side = image_size * (3 if image_size <= 96 else 2)  # drawn larger, then averaged
    layers = Layers.blank(side)
    cells, half = stamp_cells(rng)
    layout = lay_out(rng, half, difficulty)
    print_stamp(layers, rng, cells, half, layout.stamp)
    force = rng.uniform(0.85, 1.15) * (1.3 - 0.6 * difficulty)
    DEFECTS[defect](layers, own, layout.defect, layout.reach, force)
    plate = np.zeros((side, side), np.uint8)
    Brush(plate, layers.scale).fill(layers.fixed(layout.outline), 255)

    busy = np.float32(rng.uniform(0.05, 0.1) * (0.6 + 0.8 * difficulty))
    grey, rough = surfaces.texture(rng, side)
    bevel = np.float32(rng.uniform(0.4, 1.0) / 255)
    relief = layers.soft(layers.relief + bevel * plate, 0.35) + 2 * busy * rough
    surface = layers.tone * surfaces.shading(rng, relief) * (1 + busy * grey)
    surface *= np.float32(rng.uniform(105, 175))
    large = np.where(plate > 0, surface, surfaces.wall(rng, plate))
    picture = cv2.resize(large, (image_size, image_size), interpolation=cv2.INTER_AREA)
    picture = cv2.GaussianBlur(picture, (0, 0), rng.uniform(0.3, 0.55) * image_size / 48)
    noise = np.float32(rng.uniform(1, 4) * (0.5 + difficulty))
    picture = picture + noise * grain.standard_normal(picture.shape, dtype=np.float32)
    return np.clip(np.rint(picture), 0, 255).astype(np.uint8), _masks(layers, plate, image_size)


def _masks(layers: Layers, plate: NDArray[np.uint8], image_size: int) -> NDArray[np.bool_]:
    """Masks (3, H, W): the defect with its edge, the stamp and the plate."""
    wide = 2 * round(0.7 * layers.scale) + 1
    kernel = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (wide, wide))
    grown = cv2.dilate(layers.defect, kernel)
    size = (image_size, image_size)
    drawn = (grown, layers.stamp, plate)
    return np.stack([cv2.resize(m, size, interpolation=cv2.INTER_AREA) >= 128 for m in drawn])


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
        _write_png(folder / "masks" / name, _label_map(masks))
    (folder / "regions.yaml").write_text(REGIONS_YAML, encoding="utf-8")
    return folder


def _label_map(masks: dict[str, NDArray[np.bool_]]) -> NDArray[np.uint8]:
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
