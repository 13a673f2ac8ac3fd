"""The probe set: the few images on which every model and every epoch is looked at."""

import hashlib

import numpy as np

from fer_lightning.data.splits import Rows
from fer_lightning.errors import UserError


def probe_rows(rows: Rows, n: int, seed: int, fingerprint: str) -> Rows:
    """Choose images at random, the same for every model, training seed and epoch.

    Each row of a data set draws a number that depends on (fingerprint, seed, row) only, and the
    images with the n smallest are taken. So a smaller probe lies inside a larger one, and two
    parts that share most images share most of their probe.

    Args:
        rows: rows of the data set, such as those of the test part, in any order.
        n: how many to take; where there are fewer, all are taken.
        seed: another seed, other images; not the training seed.
        fingerprint: of the data set, see `ImageSet.fingerprint`.

    Returns:
        At most n of the rows, sorted.

    Raises:
        UserError: no rows, one that occurs twice or is negative, or n below 1.

    >>> probe_rows(np.arange(100, 200), 4, seed=0, fingerprint="a")
    array([105, 128, 143, 183])
    >>> probe_rows(np.array([5, 3]), 200, seed=0, fingerprint="a")
    array([3, 5])
    """
    rows = np.unique(given := np.asarray(rows, np.int64))
    if n < 1:
        raise UserError(f"expected a probe of at least 1 image but got {n}; raise it")
    if given.ndim != 1 or len(given) == 0 or len(rows) != len(given) or rows[0] < 0:
        raise UserError(
            f"expected different rows of a data set to choose from but got {given!r:.80}; "
            "pass the rows of one part of a split"
        )
    digest = hashlib.sha256(f"probe {fingerprint} {seed}".encode()).digest()
    rng = np.random.default_rng(int.from_bytes(digest[:16], "big"))
    drawn = rng.random(rows[-1] + 1)[rows]
    return np.sort(rows[np.argsort(drawn, kind="stable")[:n]])
