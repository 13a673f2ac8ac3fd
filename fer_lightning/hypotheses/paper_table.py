"""Our gaps, gains and LFR table beside the paper's."""

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np

from fer_lightning.data.regions import FACE
from fer_lightning.hypotheses import paper
from fer_lightning.hypotheses.contrast import Question, contrast
from fer_lightning.hypotheses.evidence import Cell, Floats, Focus, Key, Resolution, align
from fer_lightning.hypotheses.focus_measures import at_least_1, at_limits, log_lfr
from fer_lightning.hypotheses.verdict import Row, adjust
from fer_lightning.statistics import (
    ALPHA,
    cohen_d,
    cohen_d_paired,
    compare,
    family_level,
    family_resamples,
)

NAN = float("nan")
UNKNOWN: Row = {"estimate": NAN, "low": NAN, "high": NAN, "level": NAN, "seeds": 0, "n": 0}


def gaps_and_gains(
    cells: Mapping[Key, Cell],
    first: str,
    second: str,
    fractions: Sequence[float],
    seeds: Sequence[int],
    alpha: float = ALPHA,
) -> list[Row]:
    """Put the leads at each fraction and the gains from 30 to 100 % beside the paper's, in points.

    Args:
        cells: as `by_key` gives them.
        first: what stands for the paper's CNN.
        second: what stands for its ViT.
        fractions: planned ones; the paper's three are always listed.
        seeds: planned ones.
        alpha: intervals have the level 1 - alpha.

    Returns:
        Rows with `quantity`, `paper`, `ours`, `low`, `high`, `level`, `apart` (ours minus the
        paper's), `seeds` and `n`; NaN for what one side does not have.
    """
    questions = [
        (
            f"lead of {first} over {second} at {100 * fraction:g} %",
            paper.GAPS.get(fraction, NAN),
            ((1, (first, fraction)), (-1, (second, fraction))),
        )
        for fraction in sorted({*fractions, *paper.GAPS})
    ]
    questions += [
        (
            f"gain of {model} from 30 to 100 %",
            paper.GAINS[role],
            ((1, (model, 1.0)), (-1, (model, 0.3))),
        )
        for model, role in ((first, "cnn"), (second, "vit"))
    ]
    rows: list[Row] = []
    for quantity, theirs, terms in questions:
        found = contrast(Question("", quantity, terms), cells, seeds, alpha=alpha)
        row = UNKNOWN if found is None else found.row
        rows.append(
            {
                "quantity": quantity,
                "paper": theirs,
                "ours": row["estimate"],
                **{name: row[name] for name in ("low", "high", "level")},
                "apart": float(row["estimate"]) - theirs,
                **{name: row[name] for name in ("seeds", "n")},
            }
        )
    return rows


def focus_rows(
    found: Mapping[Key, Focus],
    first: str,
    second: str,
    fraction: float,
    seeds: Sequence[int],
    resolution: Resolution = "native",
    alpha: float = ALPHA,
) -> list[Row]:
    """Lay out LFR of each region as the paper's table does, with its numbers beside ours.

    Means, SDs, medians and shares (percent) are of a model's own images, zero maps left out or, in
    `_zeros_in`, counted as 0; they are means over seeds. `log_difference` with its interval and p
    is of pairs in which neither map is zero; `at_limits` counts the maps that weigh most in it,
    without heat inside or outside a region. The six regions are one family.

    Args:
        found: as `by_key` gives it.
        first: what stands for the paper's CNN.
        second: what stands for its ViT.
        fraction: of the training data.
        seeds: planned ones.
        resolution: "native" or "matched".
        alpha: of the family.

    Returns:
        Six rows, or none where no seed is common to both models or a seed has no pair.
    """
    groups = [(first, fraction), (second, fraction)]
    there = {key: f for key, f in found.items() if f.has(resolution) and f.regions == FACE}
    m = len(paper.FOCUS)
    level, resamples = family_level(m, alpha), family_resamples(m, alpha)
    rows: list[Row] = []
    for theirs in paper.FOCUS:
        take = partial(_lfr, resolution=resolution, region=theirs.region)
        values = align(there, groups, seeds, take)
        if values is None or np.isnan(sum(values.values)).all(axis=1).any():
            return []
        a, b = values.values
        logs = compare(log_lfr(a), log_lfr(b), level, resamples)
        rows.append(
            {
                "region": theirs.region,
                **_summary("first", a),
                **_summary("second", b),
                "d": float(np.mean([cohen_d(x, y) for x, y in zip(a, b, strict=True)])),
                "d_paired": float(np.mean([cohen_d_paired(row) for row in a - b])),
                "log_difference": logs.estimate,
                "log_low": logs.interval.low,
                "log_high": logs.interval.high,
                "level": level,
                "p": logs.p,
                "n": logs.n,
                "excluded": logs.excluded,
                "at_limits": at_limits(a, b),
                "seeds": len(values.seeds),
                **{f"paper_{name}": value for name, value in theirs._asdict().items()},
            }
        )
    for row in rows:
        del row["paper_region"]
    return adjust(rows, m)


def _lfr(focus: Focus, resolution: Resolution, region: str) -> Floats:
    return focus.lfr[resolution, region]


def _summary(name: str, values: Floats) -> Row:
    """Sum up a model's values, (S, n), as means over seeds."""
    return {
        f"{name}_mean": float(np.nanmean(values, axis=1).mean()),
        f"{name}_sd": float(np.nanstd(values, axis=1, ddof=1).mean()),
        f"{name}_median": float(np.nanmedian(values, axis=1).mean()),
        f"{name}_share_ge_1": float(100 * np.nanmean(at_least_1(values), axis=1).mean()),
        f"{name}_share_ge_1_zeros_in": float(100 * at_least_1(np.nan_to_num(values)).mean()),
        f"{name}_zero_maps": int(np.isnan(values).sum()),
    }
