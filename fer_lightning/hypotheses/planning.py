"""How many seeds a planned question needs, told before anything is trained."""

import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from fer_lightning.hypotheses.evidence import Group
from fer_lightning.hypotheses.registry import HYPOTHESES, Asked
from fer_lightning.hypotheses.verdict import most_points
from fer_lightning.statistics import ALPHA, family_level, smallest_lead, trainings_needed
from fer_lightning.statistics.trainings import MOST_TRAININGS

ASSUMED = 1.0  # points between trainings of a model, as FER-2013 has it at 30 % of the data
LEADS = (3, 5, 10)  # points
# Variance over test images of the difference of two models' answers: 0.16 and 0.21 in our studies
PER_IMAGE = 0.2


def spread_between(accuracies: Mapping[Group, Sequence[float]]) -> float | None:
    """Pool the SD between trainings, in points; None where no model has two.

    Args:
        accuracies: of finished trainings, in [0, 1], by model and fraction.

    >>> round(spread_between({("cnn", 0.3): [0.50, 0.52], ("vit", 0.3): [0.4]}), 2)
    1.41
    >>> spread_between({("vit", 0.3): [0.4]}) is None
    True
    """
    several = [values for values in accuracies.values() if len(values) > 1]
    if not several:
        return None
    squares = sum(np.var(values, ddof=1) * (len(values) - 1) for values in several)
    return 100 * math.sqrt(squares / sum(len(values) - 1 for values in several))


def seeds_for(
    asked: Iterable[Asked],
    fractions: Sequence[float],
    seeds: int,
    images: int,
    measured: float | None = None,
    alpha: float = ALPHA,
) -> list[str]:
    """Say in sentences what so many planned seeds can find, and how many would find more.

    Args:
        asked: the study's hypotheses.
        fractions: planned ones.
        seeds: how many are planned.
        images: of the test.
        measured: spread between finished trainings in points; else `ASSUMED`.
        alpha: of each family.

    >>> from fer_lightning.hypotheses import ask_by_default
    >>> for line in seeds_for(ask_by_default("cnn", "vit")[:1], [0.3, 1.0], 3, 3633): print(line)
    Spread between trainings of a model: 1.0 points, assumed, for no model has two finished seeds.
    H1a (cnn, vit; 2 tests): found in 80 % of studies is a difference of 3 points with 42 seeds, ...
    """
    spread = ASSUMED if measured is None else measured
    origin = (
        "assumed, for no model has two finished seeds" if measured is None else "of finished cells"
    )
    lines = [f"Spread between trainings of a model: {spread:.1f} points, {origin}."]
    for one in asked:
        ask = HYPOTHESES[one.hypothesis].questions
        questions = [] if ask is None else ask(one, fractions)
        models = ", ".join(
            str(value) for name, value in one if name != "hypothesis" and isinstance(value, str)
        )
        if ask is None:
            lines.append(
                f"{one.hypothesis} ({models}): depends on how much maps differ between trainings, "
                "which no accuracy tells; at least two seeds."
            )
        elif questions:
            tests = len(questions)
            told = _told(len(questions[0].terms), spread, seeds, images, family_level(tests, alpha))
            plural = "test" if tests == 1 else "tests"
            lines.append(f"{one.hypothesis} ({models}; {tests} {plural}): {told}")
    return lines


def _told(terms: int, spread: float, seeds: int, images: int, level: float) -> str:
    spreads, error = [spread] * terms, 100 * math.sqrt(terms / 2 * PER_IMAGE / images)
    needed = [trainings_needed(lead, spreads, error, level) for lead in LEADS]
    enough = ", ".join(
        f"of {lead} points with {count or f'more than {MOST_TRAININGS}'} seeds"
        f"{'' if count else ' or more test images'}"
        for lead, count in zip(LEADS, needed, strict=True)
    )
    planned = _planned(seeds, spreads, error, level)
    return f"found in 80 % of studies is a difference {enough}; {planned}"


def _planned(seeds: int, spreads: Sequence[float], error: float, level: float) -> str:
    if seeds < 2:
        return "with the one planned nothing is decided, whatever the difference."
    lead = smallest_lead(spreads, seeds, error, level)
    most = most_points(len(spreads))
    if lead > most:
        return (
            f"with the {seeds} planned none at all, for it would have to be above {most:g} points."
        )
    return f"with the {seeds} planned, one of {lead:.1f} points."
