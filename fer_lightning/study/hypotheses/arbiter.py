"""The arbiter of H2: what hiding the key regions costs, which needs no map."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from fer_lightning.study.evidence import Floats
from fer_lightning.study.hypotheses.verdict import Row, row_of
from fer_lightning.study.stats import ALPHA, Comparison, compare_differences, family_level

RULE = (
    "The arbiter hides the key regions, and random patches of the same area, and takes by how much "
    "more the true class's logit drops. It contradicts where that excess lies below 0 for the "
    "first model, or lies below the second model's, each divided by its own SD over images "
    "because logits of two models have no common unit (whole interval, under any fill)."
)


class Arbitration(NamedTuple):
    """What the arbiter says.

    Args:
        contradicts: hiding speaks against the first model's focus.
        depends: hiding the key regions costs the first model more than patches, under every fill.
        rows: the numbers.
    """

    contradicts: bool
    depends: bool
    rows: list[Row]


def arbitrate(
    first: Mapping[str, Floats],
    second: Mapping[str, Floats],
    names: tuple[str, str],
    alpha: float = ALPHA,
) -> Arbitration:
    """Ask the arbiter under each fill.

    Args:
        first: (S, n) excess by fill.
        second: likewise.
        names: of the models.
        alpha: intervals have the level 1 - alpha: contradiction only ever takes support away.

    >>> rng = np.random.default_rng(0)
    >>> much, none = rng.normal(1.0, 1.0, (1, 99)), rng.normal(0.0, 1.0, (1, 99))
    >>> found = arbitrate({"mean": much}, {"mean": none}, ("cnn", "vit"))
    >>> found.contradicts, found.depends
    (False, True)
    >>> arbitrate({"mean": none}, {"mean": much}, ("cnn", "vit")).contradicts
    True
    """
    level = family_level(1, alpha)
    rows: list[Row] = []
    contradicts, depends = False, True
    for fill in first:
        own = [compare_differences(excess[fill], level) for excess in (first, second)]
        apart = compare_differences(_scaled(first[fill]) - _scaled(second[fill]), level)
        title = f"hiding KEY ({fill}) beyond random patches"
        rows += [
            row_of(f"{title}, {name}", found, "logit", "arbiter")
            for name, found in zip(names, own, strict=True)
        ]
        rows.append(row_of(f"{title}, {names[0]} minus {names[1]}", apart, "SDs", "arbiter"))
        contradicts |= own[0].interval.side < 0 or apart.interval.side < 0
        depends &= _above(own[0])
    return Arbitration(contradicts, depends, rows)


def _above(comparison: Comparison) -> bool:
    return comparison.interval.side > 0


def _scaled(excess: Floats) -> Floats:
    """Divide each seed's values, (S, n), by their SD over images."""
    spread = np.nanstd(excess, axis=1, ddof=1, keepdims=True)
    return excess / np.where(spread > 0, spread, 1.0)
