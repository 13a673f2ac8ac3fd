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

    Returns:
        At most n of the rows, sorted.
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
