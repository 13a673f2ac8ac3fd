"""Cells and maps made to order."""

import numpy as np

from fer_lightning.hypotheses.evidence import RESOLUTIONS, Cell, Focus

REGIONS = ("eyes", "mouth", "eyebrow", "nose", "key", "all")


def cell(model, fraction=0.3, seed=42, accuracy=0.5, n=2000, ids=None):
    """Right and wrong answers with exactly this accuracy, other images for each seed."""
    correct = np.zeros(n, dtype=bool)
    correct[: round(accuracy * n)] = True
    rng = np.random.default_rng([seed, sum(map(ord, model))])
    return Cell(
        model, fraction, seed, np.arange(n) if ids is None else ids, rng.permutation(correct)
    )


def focus(model, log=0.0, seed=42, fraction=0.3, n=200, zero=0, twins=-0.5, excess=1.0, **other):
    """Maps with log LFR around `log`; the first `zero` of them all zero."""
    rng = np.random.default_rng([seed, sum(map(ord, model))])
    lfr = np.exp(rng.normal(log, 0.3, n))
    lsi = np.clip(0.1 + 0.02 * log + rng.normal(0, 0.01, n), 0, 1)
    lfr[:zero] = lsi[:zero] = np.nan
    fields = {
        "lfr": {(at, region): lfr for at in RESOLUTIONS for region in REGIONS},
        "lsi": dict.fromkeys(RESOLUTIONS, lsi),
        "nulls": {"untrained 0": twins, "untrained 1": np.nan, "gaussian_0.25": 0.5},
        "excess": {"mean": rng.normal(excess, 1.0, n), "blur": rng.normal(excess, 1.0, n)},
    }
    return Focus(model, fraction, seed, np.arange(n), **(fields | other))
