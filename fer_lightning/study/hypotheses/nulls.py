"""What focus is worth: a model's log LFR beside that of maps that know nothing."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from fer_lightning.study.evidence import Focus
from fer_lightning.study.hypotheses.focus_measures import log_lfr
from fer_lightning.study.hypotheses.verdict import Row
from fer_lightning.study.stats import ALPHA, Interval, bootstrap, family_level

TWIN, BLOB = "untrained", "gaussian"


class Beside(NamedTuple):
    """One model beside its null maps.

    Args:
        above_twins: its interval lies above all its untrained twins; None where there are none.
        above_blobs: likewise for blobs of heat at the centre.
        rows: the numbers.
    """

    above_twins: bool | None
    above_blobs: bool | None
    rows: list[Row]


def beside_nulls(name: str, focus: Sequence[Focus], alpha: float = ALPHA) -> Beside:
    """Put a model's mean log LFR of KEY at the matched resolution beside its null maps'.

    Null maps are known by their mean only, whose own spread over images is left out; the highest
    of each kind counts, over twins and over the model's seeds.

    Args:
        name: of the model.
        focus: of each seed, for the same images.
        alpha: the interval's level is 1 - alpha.
    """
    usable = [f for f in focus if not np.isnan(f.lfr["matched", "key"]).all()]
    if not usable:
        return Beside(None, None, [])
    means = [
        bootstrap(log_lfr(f.lfr["matched", "key"]), family_level(1, alpha)).images for f in usable
    ]
    # without training again: the lowest and highest end over seeds
    own = Interval(
        float(np.mean([mean.estimate for mean in means])),
        min(mean.low for mean in means),
        max(mean.high for mean in means),
        family_level(1, alpha),
    )
    nulls: dict[str, float] = {}
    for one in usable:
        for null, value in one.nulls.items():
            if not np.isnan(value):
                nulls[null] = max(value, nulls.get(null, -np.inf))
    rows: list[Row] = [
        {
            "kind": "null",
            "comparison": f"log LFR of KEY, matched: {name} beside {null}",
            "unit": "",
            "estimate": own.estimate - value,
            "low": own.low - value,
            "high": own.high - value,
            "level": own.level,
            "seeds": len(usable),
            "n": len(usable[0].ids),
        }
        for null, value in nulls.items()
    ]
    return Beside(_above(own, nulls, TWIN), _above(own, nulls, BLOB), rows)


def _above(own: Interval, nulls: dict[str, float], kind: str) -> bool | None:
    values = [value for null, value in nulls.items() if null.startswith(kind)]
    return own.low > max(values) if values else None
