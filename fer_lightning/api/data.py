"""Data for a notebook: from files, from arrays, or drawn."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fer_lightning.data.augment import Augmentation
from fer_lightning.data.datamodule import Defects, Drawn, FERDataModule, Files
from fer_lightning.data.image_set import ImageSet, Usage
from fer_lightning.data.regions import Regions
from fer_lightning.data.splits import Duplicates, Protocol
from fer_lightning.errors import UserError


def load_data(
    source: str | Path | ArrayLike,
    labels: ArrayLike | None = None,
    classes: Sequence[str] | None = None,
    *,
    fraction: float = 1.0,
    split: Protocol = "ratio",
    split_seed: int = 0,
    duplicates: Duplicates | None = None,
    image_size: int | None = None,
    batch_size: int = 64,
    augmentation: Augmentation | None = None,
    scale: Literal["unit", "standard"] = "unit",
    landmarks: str | None = None,
    masks: str | Path | Mapping[str, ArrayLike] | None = None,
    regions: str | Path | None = None,
    name: str = "arrays",
) -> FERDataModule:
    """Load pictures with their labels, divided into train, validation and test.

    Args:
        source: FER-2013 in any of its forms (``fer2013.csv``, a folder, an archive), another folder
            of pictures, or an array of bytes, (N, H, W) or (N, C, H, W).
        labels: with an array, the class of each picture, (N,): numbers from 0.
        classes: with an array, the names of the classes; numbers without it.
        fraction: share of the training pictures to use, in (0, 1].
        split: ``ratio`` is 8:1:1; ``official`` follows the source's own parts.
        split_seed: of the split.
        duplicates: what happens to identical pictures and near-twins: ``near``, ``group``,
            ``drop`` or ``keep``; by default what suits the pictures, see `FERDataModule`.
        image_size: with files, the side to which pictures are resized.
        batch_size: pictures in a training step.
        augmentation: what happens to training pictures.
        scale: ``standard`` lets models standardise pictures by the training pixels' mean and
            standard deviation, ``unit`` takes them in [0, 1].
        landmarks: file with the outlines of each face.
        masks: where the regions are: with files, a folder of label maps; with an array, a mask
            (N, H, W) for each region by its name.
        regions: with files, the YAML file that names the values of the label maps.
        name: what an array is called in tables and pictures.

    Returns:
        A LightningDataModule whose parts can be sliced: ``data.test[:200]``.

    Raises:
        UserError: nothing is there, or arrays do not belong together.

    >>> pictures = np.random.default_rng(0).integers(0, 256, (40, 24, 24), np.uint8)
    >>> data = load_data(pictures, np.arange(40) % 2, ["cat", "dog"])
    >>> data.sizes, len(data.test)
    ({'num_classes': 2, 'in_chans': 1, 'image_size': 24}, 4)
    """
    options: dict[str, Any] = {
        "split": split,
        "duplicates": duplicates,
        "split_seed": split_seed,
        "fraction": fraction,
        "batch_size": batch_size,
        "augmentation": augmentation or Augmentation(),
        "scale": scale,
        "landmarks": landmarks,
    }
    if isinstance(source, str | Path):
        if labels is not None or classes is not None or isinstance(masks, Mapping):
            raise UserError(
                "expected labels, classes and masks by name with arrays only but got them with "
                f"{source}; leave them out"
            )
        return FERDataModule(
            data_dir=str(source),
            files=Files(image_size=image_size),
            masks=None if masks is None else str(masks),
            regions=None if regions is None else str(regions),
            **options,
        )
    if labels is None or isinstance(masks, str | Path) or regions is not None:
        raise UserError(
            "expected labels with an array of pictures, and masks by name, but got labels "
            f"{'missing' if labels is None else 'given'} and masks or regions as files; give "
            "load_data(images, labels, classes, masks={'mouth': array})"
        )
    found = image_set_of(source, labels, classes, masks or {}, name)
    return FERDataModule.of(found, **options)


def image_set_of(
    images: ArrayLike,
    labels: ArrayLike,
    classes: Sequence[str] | None,
    masks: Mapping[str, ArrayLike],
    name: str,
) -> ImageSet:
    """Make a data set of arrays; arguments as for `load_data`.

    Raises:
        UserError: another shape or type, or labels without a class.
    """
    pixels = _pictures(np.asarray(images))
    numbers = np.asarray(labels)
    N, size = len(pixels), pixels.shape[2:]
    if numbers.shape != (N,) or numbers.dtype.kind not in "iu" or (N and numbers.min() < 0):
        raise UserError(
            f"expected {N} labels from 0 but got {numbers.dtype} of shape {numbers.shape}; give "
            "one whole number per picture"
        )
    names = tuple(classes or map(str, range(int(numbers.max()) + 1)))
    if numbers.max() >= len(names) or len(set(names)) < len(names):
        raise UserError(
            f"expected a name for each class but got {len(names)} ({', '.join(names[:5])}) and "
            f"labels up to {numbers.max()}; name each class once"
        )
    stacked = {region: np.asarray(mask) for region, mask in masks.items()}
    for region, mask in stacked.items():
        if mask.shape != (N, *size) or mask.dtype != bool:
            raise UserError(
                f"expected a boolean mask '{region}' of shape {(N, *size)} but got {mask.dtype} of "
                f"shape {mask.shape}; make it at the pictures' size"
            )
    return ImageSet(
        name=name,
        images=pixels,
        labels=numbers.astype(np.int64),
        usage=np.full(N, Usage.UNKNOWN, np.int8),
        classes=names,
        files=np.array([f"row {row}" for row in range(N)]),
        masks=np.stack(list(stacked.values()), 1) if stacked else None,
        mask_regions=tuple(stacked),
        scheme=_scheme(tuple(stacked)) if stacked else None,
    )


def _pictures(pixels: NDArray[Any]) -> NDArray[np.uint8]:
    pixels = pixels[:, None] if pixels.ndim == 3 else pixels
    square = pixels.ndim == 4 and pixels.shape[2] == pixels.shape[3] > 0
    if pixels.dtype != np.uint8 or not square or pixels.shape[1] not in (1, 3) or not len(pixels):
        raise UserError(
            "expected square pictures of bytes, (N, H, H) or (N, C, H, H) with 1 or 3 channels, "
            f"but got {pixels.dtype} of shape {pixels.shape}; multiply floats by 255, convert them "
            "to uint8, and put channels before rows"
        )
    return np.ascontiguousarray(pixels)


def _scheme(names: tuple[str, ...]) -> Regions:
    """Several regions have a union, which is then what verdicts speak of."""
    if len(names) == 1:
        return Regions("picture", names, primary=names[0])
    return Regions("picture", names, {"all": names}, primary="all")


def drawn_faces(
    n: int = 3000,
    image_size: int = 48,
    seed: int = 0,
    difficulty: float = 0.5,
    cue: Literal["none", "background"] = "none",
    fraction: float = 1.0,
    batch_size: int = 64,
    augmentation: Augmentation | None = None,
    scale: Literal["unit", "standard"] = "unit",
    movement: float | None = None,
) -> FERDataModule:
    """Draw faces with seven expressions, whose regions are known exactly.

    Args:
        n: number of faces.
        image_size: side in pixels.
        seed: of the drawing.
        difficulty: from 0 (plain faces) to 1 (turned, dark, hidden, half-hearted).
        cue: plants a pattern in the background that predicts the label.
        fraction: share of the training faces to use.
        batch_size: faces in a training step.
        augmentation: what happens to training faces.
        scale: as for `load_data`.
        movement: how far heads turn and wander, 0 to 3; None: as the difficulty has it.

    >>> data = drawn_faces(100)
    >>> data.test[:3], data.classes[3]
    (3 images of drawn faces, 'happy')
    """
    drawn = Drawn(n, seed, image_size, cue, difficulty=difficulty, movement=movement)
    return FERDataModule(
        source="drawn",
        drawn=drawn,
        fraction=fraction,
        batch_size=batch_size,
        augmentation=augmentation or Augmentation(),
        scale=scale,
    )


def drawn_defects(
    n: int = 2000,
    image_size: int = 48,
    seed: int = 0,
    difficulty: float = 0.5,
    fraction: float = 1.0,
    batch_size: int = 64,
    augmentation: Augmentation | None = None,
    scale: Literal["unit", "standard"] = "unit",
) -> FERDataModule:
    """Draw plates with scratches, pits and stains, whose places are known exactly.

    Args:
        n: number of plates.
        image_size: side in pixels.
        seed: of the drawing.
        difficulty: from 0 (clear defects, calm surfaces) to 1 (faint ones, busy surfaces).
        fraction: share of the training plates to use.
        batch_size: plates in a training step.
        augmentation: what happens to training plates.
        scale: as for `load_data`.

    >>> len(drawn_defects(100).train)
    80
    """
    defects = Defects(n, seed, image_size, difficulty)
    return FERDataModule(
        source="defects",
        defects=defects,
        fraction=fraction,
        batch_size=batch_size,
        augmentation=augmentation or Augmentation(),
        scale=scale,
    )
