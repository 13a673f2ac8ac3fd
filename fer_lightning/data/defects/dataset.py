"""The drawn defects as a data set: labels, usage, images and exact region masks."""

import hashlib

import numpy as np
from numpy.typing import NDArray

from fer_lightning.data.defects.draw import REGION_NAMES, render
from fer_lightning.data.defects.marks import DEFECTS
from fer_lightning.data.image_set import ImageSet, Usage
from fer_lightning.data.regions import Regions
from fer_lightning.errors import UserError

CLASSES = tuple(DEFECTS)
# Part of the fingerprint: raise it with every change to a plate's pixels or its label.
VERSION = 1
PLATE = Regions(
    subject="plate",
    parts=("defect", "print"),
    unions={"all": ("defect", "print")},
    primary="defect",
    outside="plate",
)
LABELS = 4  # a stream of random numbers beside those of `draw.STREAMS`


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
    _check(size, image_size, seed, difficulty)
    images = np.empty((size, 1, image_size, image_size), np.uint8)
    regions = len(REGION_NAMES) if with_masks else 0
    masks = np.empty((size, regions, image_size, image_size), bool)
    labels = _labels(size, seed)
    for i, label in enumerate(labels):
        images[i, 0], mask = render((seed, i), CLASSES[label], image_size, difficulty)
        masks[i] = mask[:regions]
    return ImageSet(
        name="drawn defects",
        images=images,
        labels=labels,
        usage=_usage(size),
        classes=CLASSES,
        files=np.array([f"drawn/{i:06d}" for i in range(size)]),
        masks=masks if with_masks else None,
        mask_regions=REGION_NAMES if with_masks else (),
        scheme=PLATE,
        known_fingerprint=_fingerprint((size, image_size, seed, float(difficulty))),
    )


def _labels(size: int, seed: int) -> NDArray[np.int64]:
    """All classes in each run of six images, in an order of its own."""
    kinds = len(CLASSES)
    runs = [
        np.random.default_rng([seed, start, LABELS]).permutation(kinds)
        for start in range(0, size, kinds)
    ]
    return np.concatenate(runs)[:size].astype(np.int64)


def _usage(size: int) -> NDArray[np.int8]:
    """8:1:1 in runs of six images; all three parts are there from 18 images on."""
    turn = np.arange(size) // len(CLASSES) % 10
    usage = np.full(size, Usage.TRAINING, np.int8)
    usage[turn == 1] = Usage.PUBLIC_TEST
    usage[turn == 2] = Usage.PRIVATE_TEST
    return usage


def _fingerprint(options: tuple[object, ...]) -> str:
    """Hash of what decides the images, so that a rounding of another processor changes no split."""
    return hashlib.sha256(repr(("defects", VERSION, *options)).encode()).hexdigest()[:16]


def _check(size: int, image_size: int, seed: int, difficulty: float) -> None:
    for name, value, low, high in (
        ("size", size, len(CLASSES), 1_000_000),
        ("image_size", image_size, 32, 512),
        ("seed", seed, 0, 2**63),
        ("difficulty", difficulty, 0, 1),
    ):
        if not low <= value <= high:
            raise UserError(
                f"expected {name} of the drawn defects between {low} and {high} but got {value}; "
                "choose a value in that range"
            )
