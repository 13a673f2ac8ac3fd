"""Cells and maps made to order."""

import numpy as np

from fer_lightning.hypotheses.evidence import RESOLUTIONS, Cell, Focus
from fer_lightning.hypotheses.truth import Measured, Truth

REGIONS = ("eyes", "mouth", "eyebrow", "nose", "key", "all")


def cell(model, fraction=0.3, seed=42, accuracy=0.5, n=2000, ids=None):
    """Right and wrong answers with exactly this accuracy; the same images are hard for all."""
    rng = np.random.default_rng([seed, sum(map(ord, model))])
    ease = np.random.default_rng(0).normal(size=n) + 0.5 * rng.normal(size=n)
    correct = np.zeros(n, dtype=bool)
    correct[np.argsort(ease)[n - round(accuracy * n) :]] = True
    return Cell(model, fraction, seed, np.arange(n) if ids is None else ids, correct)


def focus(model, log=0.0, seed=42, fraction=0.3, n=200, zero=0, twins=0.6, excess=1.0, **other):
    """Maps with log LFR around `log` and mass ratio around 1 + 0.4 log; the first `zero` are zero.

    Regions are each image's own.
    """
    rng = np.random.default_rng([seed, sum(map(ord, model))])
    noise = rng.normal(0, 1, n)
    lfr = np.exp(log + 0.3 * noise)
    auc = np.clip(0.5 + 0.2 * log + 0.06 * noise, 0, 1)
    lsi = np.clip(0.1 + 0.02 * log + rng.normal(0, 0.01, n), 0, 1)
    lfr[:zero] = lsi[:zero] = auc[:zero] = np.nan
    places = [(at, region) for at in RESOLUTIONS for region in REGIONS]
    fields = {
        "lfr": dict.fromkeys(places, lfr),
        "lsi": dict.fromkeys(RESOLUTIONS, lsi),
        "auc": dict.fromkeys(places, auc),
        "mass": dict.fromkeys(places, 2 * auc),
        "nulls": {"untrained 0": twins, "untrained 1": np.nan, "gaussian_0.25": 1.2},
        "excess": {"mean": rng.normal(excess, 1.0, n), "blur": rng.normal(excess, 1.0, n)},
        "regions_from": np.full(n, "landmarks"),
    }
    return Focus(model, fraction, seed, np.arange(n), **(fields | other))


def truth(*passed, failed=(), models=("cnn", "vit"), metric="mass"):
    """A table of truth with these methods passed, and others failed, for both models."""

    def rows(method, good):
        low, rank = (0.95, 0.9) if good else (0.6, 0.3)
        return [
            Measured("drawn faces", m, method, metric, s, 0.97, low, 1.0, rank, 0.5, 200, good)
            for m in models
            for s in (1, 2)
        ]

    of_all = [*(rows(m, True) for m in passed), *(rows(m, False) for m in failed)]
    return Truth(tuple(row for several in of_all for row in several))
