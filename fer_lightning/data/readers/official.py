"""FER-2013's own numbers, by which a full or partial copy of it is recognised."""

import numpy as np
from numpy.typing import NDArray

from fer_lightning.data.labels import FER_CLASSES

# images per usage (Training, PublicTest, PrivateTest) and class, in the order of FER_CLASSES
FER2013_COUNTS = np.array(
    [
        [3995, 436, 4097, 7215, 4830, 3171, 4965],
        [467, 56, 496, 895, 653, 415, 607],
        [491, 55, 528, 879, 594, 416, 626],
    ]
)


def fer2013_name(labels: NDArray[np.int64], usage: NDArray[np.int8]) -> str | None:
    """Name a set of 48x48 grey faces of the seven classes after FER-2013 if its counts allow it.

    Args:
        labels: (N,) class indices in the order of FER_CLASSES.
        usage: (N,) values of `Usage`.

    Returns:
        ``"FER-2013"`` for a whole copy, whatever its own split is; ``"FER-2013 (partial, ...)"``
        when it holds fewer images and no part more than the original; otherwise None.

    >>> fer2013_name(np.array([0, 3, 6]), np.zeros(3, np.int8))
    'FER-2013 (partial, 3 images)'
    >>> fer2013_name(np.full(60, 1), np.full(60, 1, np.int8)) is None
    True
    """
    per_class = np.bincount(labels, minlength=len(FER_CLASSES))
    if (per_class == FER2013_COUNTS.sum(axis=0)).all():
        return "FER-2013"
    parts = [np.bincount(labels[usage == part], minlength=len(FER_CLASSES)) for part in range(3)]
    fits = (np.array(parts) <= FER2013_COUNTS).all()
    if fits and (per_class <= FER2013_COUNTS.sum(axis=0)).all():
        return f"FER-2013 (partial, {len(labels):,} images)"
    return None
