"""Accuracy against the share of training data, with the paper's leads and gains beside ours."""

import math

import numpy as np

from fer_lightning.hypotheses import paper
from fer_lightning.hypotheses.evidence import by_key, cells_of
from fer_lightning.hypotheses.paper import gaps_and_gains
from fer_lightning.plots.curves import Level, accuracy_by_fraction, goes_on
from fer_lightning.report.content import Item, Picture, Table, Text
from fer_lightning.report.parts import about, mean, number, pair_of, percent
from fer_lightning.report.sections.registry import Material, section
from fer_lightning.runs.collection import Collection
from fer_lightning.statistics import Interval, bootstrap, new_trainings
from fer_lightning.statistics.bootstrap import Floats

PAPERS = ("cnn", "vit")  # the models that the paper compares
LEVEL = 0.95
RESAMPLES = 2_000  # for a picture's 95 % intervals; verdicts use more
BEYOND = "Arrows: the interval goes on beyond 100 points, more than accuracies can differ."
ROUNDED = {"estimate": 2, "ours": 2, "low": 2, "high": 2, "apart": 2, "paper": 2}


@section("accuracy", "Accuracy against training data", place=30)
def accuracy(material: Material) -> list[Item]:
    """List accuracies, leads and gains."""
    collection = material.runs
    levels = {model: _levels(collection, model) for model in collection.models}
    covers = _covers(collection)
    pair = pair_of(collection)
    compared = [] if pair is None else _compared(collection, pair)
    items: list[Item] = [_table(collection, levels, covers)]
    if compared:
        items += _beside_paper(compared, pair == PAPERS)
    return items


def accuracy_picture(collection: Collection) -> Picture:
    """Draw accuracies and leads; it stands on the first screen."""
    levels = {model: _levels(collection, model) for model in collection.models}
    covers = _covers(collection)
    pair = pair_of(collection)
    compared = [] if pair is None else _compared(collection, pair)
    lead = [level for level in map(_lead_level, compared) if level is not None]
    sides = " (95 % left, 99.5 % right)" if lead else " (95 %)"
    beyond = f" {BEYOND}" if goes_on(lead) else ""
    figure = accuracy_by_fraction(
        levels,
        lead,
        paper.GAPS if pair == PAPERS else None,
        pair or ("", ""),
        f"Accuracy by share of training data: {about(collection)}",
        f"Bars: intervals over {covers}{sides}. Small dots: single seeds.{beyond}",
    )
    caption = "Test accuracy against the share of training images."
    return Picture("accuracy_by_fraction", caption, _words(levels), figure)


def _covers(collection: Collection) -> str:
    """What the intervals cover."""
    several = len(collection.seeds) > 1
    return "test images and new trainings" if several else "test images only, as there is one seed"


def _levels(collection: Collection, model: str) -> list[Level]:
    there = (f for f in collection.fractions if collection.select(model, f))
    return [level_of(collection, model, fraction) for fraction in there]


def level_of(collection: Collection, model: str, fraction: float) -> Level:
    """Return a model's test accuracy at a fraction with its interval, and that of each seed."""
    right = collection.correct(model, fraction).right
    best = _interval(right.astype(np.float64))
    each = tuple(float(share) for share in right.mean(1))
    return Level(fraction, best.estimate, max(best.low, 0.0), min(best.high, 1.0), each)


def _interval(right: Floats) -> Interval:
    """Where an accuracy lies for new trainings; of one, (1, n), for this training."""
    if len(right) == 1:
        return bootstrap(right, LEVEL, RESAMPLES).images
    return new_trainings([(1, right)]).interval(LEVEL)


def _words(levels: dict[str, list[Level]]) -> str:
    return "; ".join(
        f"{model}: " + ", ".join(f"{lv.mean:.3f} at {percent(lv.fraction)}" for lv in several)
        for model, several in levels.items()
    )


def _table(collection: Collection, levels: dict[str, list[Level]], covers: str) -> Table:
    rows = []
    for model, several in levels.items():
        for level in several:
            runs = collection.select(model, level.fraction)
            f1 = mean(run.summary["test"].get("macro_f1") for run in runs)
            spread = float(np.std(level.seeds, ddof=1)) if len(level.seeds) > 1 else math.nan
            numbers = map(number, (level.mean, spread, level.low, level.high))
            each = zip(runs, level.seeds, strict=True)
            seeds = ", ".join(f"{run.seed}: {value:.4f}" for run, value in each)
            names = (model, percent(level.fraction), len(level.seeds))
            rows.append((*names, *numbers, seeds, number(f1)))
    one = "An SD needs two seeds." if any(row[4] is None for row in rows) else ""
    return Table(
        "accuracy",
        "Test accuracy of every model and fraction, seed by seed.",
        (
            *("model", "training data", "seeds", "accuracy", "SD over seeds", "low", "high"),
            *("each seed", "macro-F1"),
        ),
        tuple(rows),
        (f"Low to high: 95 % interval over {covers}. {one}".strip(),),
    )


def _compared(collection: Collection, pair: tuple[str, str]) -> list[dict[str, float | int | str]]:
    cells = by_key(cells_of(collection.runs))
    return gaps_and_gains(cells, *pair, collection.fractions, collection.seeds)


def _lead_level(row: dict[str, float | int | str]) -> Level | None:
    """Turn a row on the lead at a fraction into a level; None for other rows and gaps."""
    name = str(row["quantity"])
    if not name.startswith("lead") or not math.isfinite(float(row["ours"])):
        return None
    fraction = float(name.rsplit(" at ", 1)[1].removesuffix(" %")) / 100
    return Level(fraction, float(row["ours"]), float(row["low"]), float(row["high"]))


def _beside_paper(compared: list[dict[str, float | int | str]], ours: bool) -> list[Item]:
    columns = ("quantity", "ours", "low", "high", "paper", "apart", "seeds", "n")
    rows = tuple(
        (str(row["quantity"]), *(number(row[name], ROUNDED.get(name, 0)) for name in columns[1:]))
        for row in compared
    )
    other = () if ours else ("The paper compared a CNN with a ViT, which these models are not.",)
    table = Table(
        "gaps_and_gains",
        "Leads and gains in points (percent of the test images), ours beside the paper's.",
        ("quantity", "ours", "low", "high", "paper", "ours minus paper", "seeds", "test images"),
        rows,
        (
            f"Paper: {paper.SOURCE}. It prints no absolute accuracy.",
            "Low to high: 99.5 % interval for new trainings; with one seed, for these trainings.",
            *other,
        ),
    )
    gap = [row for row in compared if math.isfinite(float(row["apart"]))]
    if not gap or not ours:
        return [table]
    words = "; ".join(
        f"{row['quantity']}: {float(row['ours']):+.1f} points, paper {float(row['paper']):+.1f}"
        for row in gap
    )
    return [Text(f"Beside the paper: {words}."), table]
