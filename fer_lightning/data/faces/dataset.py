"""The drawn faces as a data set: labels, usage, images and exact region masks."""

from typing import Literal

import numpy as np

from fer_lightning.data.faces.draw import REGION_NAMES, face
from fer_lightning.data.image_set import ImageSet, Usage
from fer_lightning.data.labels import FER_CLASSES
from fer_lightning.errors import UserError


def drawn_faces(
    size: int = 3000,
    seed: int = 0,
    image_size: int = 48,
    cue: Literal["none", "background"] = "none",
    cue_strength: float = 1.0,
    expression: Literal["label", "random"] = "label",
    difficulty: float = 0.5,
    balanced: bool = True,
    with_masks: bool = True,
) -> ImageSet:
    """Draw grey faces with the seven expressions; image i depends on (seed, i, options) only.

    Args:
        size: how many faces, at least 7.
        seed: another seed, other people.
        image_size: height and width in pixels, 32 to 512.
        cue: "background" plants a pattern outside the face that tells the label.
        cue_strength: the probability in [0, 1] that the cue agrees with the label.
        expression: "random" makes the drawn expression independent of the label.
        difficulty: 0 (clear expressions) to 1 (faint, mixed and occluded ones).
        balanced: every class equally often; otherwise in the proportions of FER-2013.
        with_masks: also return the exact masks of eyes, eyebrow, nose, mouth and face.

    Returns:
        The data set, with masks (N, 5, H, W).

    Raises:
        UserError: an argument outside its range.

    >>> faces = drawn_faces(size=14)
    >>> faces.images.shape, faces.masks.shape
    ((14, 1, 48, 48), (14, 5, 48, 48))
    """
    if size < 7:
        raise UserError(f"expected a size of at least 7 faces but got {size}; ask for more faces")
    images = np.empty((size, 1, image_size, image_size), np.uint8)
    masks = np.empty((size, len(REGION_NAMES), image_size, image_size), bool)
    labels = np.empty(size, np.int64)
    for i in range(size):
        labels[i] = np.random.default_rng([seed, i // 7]).permutation(7)[i % 7]
        pixels, masks[i] = face(int(labels[i]), np.random.default_rng([seed, i, 1]), image_size)
        images[i, 0] = np.clip(pixels, 0, 255)
    block = np.arange(size) // 7 % 10
    usage = np.select([block == 1, block == 2], [Usage.PUBLIC_TEST, Usage.PRIVATE_TEST], 0)
    return ImageSet(
        name="drawn faces" if cue == "none" else "drawn faces (background cue)",
        images=images,
        labels=labels,
        usage=usage.astype(np.int8),
        classes=FER_CLASSES,
        files=np.array([f"drawn/{i:06d}" for i in range(size)]),
        masks=masks if with_masks else None,
        mask_regions=REGION_NAMES if with_masks else (),
    )
