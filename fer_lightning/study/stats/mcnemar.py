"""McNemar's exact test: do two models differ in a share, on the same images?"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtr

from fer_lightning.errors import UserError


class McNemar(NamedTuple):
    """How many images only the first and only the second model has, and the two-sided p."""

    only_first: int
    only_second: int
    p: float


def mcnemar(first: NDArray[np.bool_], second: NDArray[np.bool_]) -> McNemar:
    """Test two yes-or-no answers for the same images by the exact binomial distribution.

    Args:
        first: (n,) bool.
        second: (n,) bool.

    Raises:
        UserError: another number of images.

    >>> first = np.array([True] * 9 + [False, True])
    >>> second = np.array([False] * 9 + [True, True])
    >>> mcnemar(first, second)
    McNemar(only_first=9, only_second=1, p=0.021484375)
    """
    first, second = np.asarray(first, dtype=bool), np.asarray(second, dtype=bool)
    if first.shape != second.shape or first.ndim != 1:
        raise UserError(
            f"expected answers for the same images but got shapes {first.shape} and "
            f"{second.shape}; align them by image"
        )
    b, c = int((first & ~second).sum()), int((second & ~first).sum())
    p = min(1.0, 2 * float(bdtr(min(b, c), b + c, 0.5))) if b + c else 1.0
    return McNemar(b, c, max(p, np.finfo(float).tiny))  # half to the power 1,075 is 0 in a float
