"""Which process writes: Lightning knows the rank before there is a Trainer."""

from lightning.pytorch.utilities import rank_zero_only


def is_rank_zero() -> bool:
    """Whether this process is the one that writes and prints.

    >>> is_rank_zero()
    True
    """
    return rank_zero_only.rank == 0  # type: ignore[attr-defined]
