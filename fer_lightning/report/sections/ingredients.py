"""How many points of a lead each ingredient of the tuned recipe carries: a study that asks H4."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from fer_lightning.hypotheses.evidence import Cell, Group, Key, align, by_key, cells_of
from fer_lightning.hypotheses.h4_recipe import TwoRecipes
from fer_lightning.report.content import Cell as Value
from fer_lightning.report.content import Item, Table
from fer_lightning.report.parts import number, percent
from fer_lightning.report.sections.registry import Material, section
from fer_lightning.report.sections.verdicts import hypotheses
from fer_lightning.runs.collection import Collection
from fer_lightning.statistics import Comparison, compare


class Arm(NamedTuple):
    """A row of the table: who leads whom, and what was exchanged for what to get there."""

    way: str  # "the paper's recipe", "one at a time" or "in order"
    ahead: str  # model whose lead it is
    behind: str
    # accuracy of the first minus that of the second is what this step takes from the lead
    taken: tuple[str, str] | None


@section("ingredients", "Ingredients of the lead", place=35)
def ingredients(material: Material) -> list[Item]:
    """Lay out the lead with every ingredient of the tuned recipe, where a study asks H4."""
    collection = material.runs
    if not collection.study.get("hypotheses"):
        return []
    asked = [one for one in hypotheses(collection) if isinstance(one, TwoRecipes)]
    return [_table(collection, one, k) for k, one in enumerate(asked)]


def arms(asked: TwoRecipes) -> list[Arm]:
    """List the steps from the paper's recipe to the tuned one.

    What the steps in order take from the lead sums up to what H4 asks.

    >>> names = {"first": "cnn", "second": "vit", "first_fair": "cnn2", "second_fair": "vit2"}
    >>> asked = TwoRecipes(hypothesis="H4", in_order=["vit1"], **names)
    >>> [(arm.ahead, arm.behind) for arm in arms(asked)]
    [('cnn', 'vit'), ('cnn', 'vit1'), ('cnn', 'vit2'), ('cnn2', 'vit2')]
    """
    first, second = asked.first, asked.second
    alone = [Arm("one at a time", first, arm, (arm, second)) for arm in asked.one_at_a_time]
    path = [second, *asked.in_order, asked.second_fair]
    steps = [Arm("in order", first, arm, (arm, before)) for before, arm in pairwise(path)]
    last = Arm("in order", asked.first_fair, asked.second_fair, (first, asked.first_fair))
    return [Arm("the paper's recipe", first, second, None), *alone, *steps, last]


def _table(collection: Collection, asked: TwoRecipes, k: int) -> Table:
    cells = by_key(cells_of(collection.runs))
    rows = tuple(
        (percent(fraction), *_row(arm, fraction, cells, collection.seeds))
        for fraction in collection.fractions
        for arm in arms(asked)
    )
    return Table(
        f"ingredients{k + 1 if k else ''}",
        f"The lead of {asked.first} over {asked.second} with each ingredient of the tuned recipe, "
        "one at a time and in order, in points of test accuracy.",
        (
            *("training data", "way", "ahead", "behind", "lead", "low", "high"),
            *("taken from the lead", "taken low", "taken high", "level", "seeds", "images"),
        ),
        rows,
        (
            "What is taken one at a time is against the paper's recipe, in order against the row "
            "above; the last row exchanges the leading model's recipe, too. The steps in order sum "
            "up to the difference of leads that H4 judges.",
            "Intervals are those of verdicts for a single comparison, over test images and, where "
            "there are several, seeds; they are not corrected for the number of rows.",
        ),
    )


def _row(
    arm: Arm, fraction: float, cells: Mapping[Key, Cell], seeds: Sequence[int]
) -> tuple[Value, ...]:
    lead = _compared(cells, (arm.ahead, fraction), (arm.behind, fraction), seeds)
    taken = None
    if arm.taken is not None:
        more, less = arm.taken
        taken = _compared(cells, (more, fraction), (less, fraction), seeds)
    known: tuple[Value, ...] = (None, None, None)
    if lead is not None:
        known = (number(lead.interval.level), len(lead.per_seed), lead.n)
    return (arm.way, arm.ahead, arm.behind, *_points(lead), *_points(taken), *known)


def _compared(
    cells: Mapping[Key, Cell], first: Group, second: Group, seeds: Sequence[int]
) -> Comparison | None:
    found = align(cells, [first, second], seeds, lambda cell: cell.correct)
    return None if found is None else compare(found.values[0], found.values[1])


def _points(found: Comparison | None) -> tuple[Value, ...]:
    if found is None:
        return (None, None, None)
    interval = found.interval
    return tuple(number(100 * x, 2) for x in (interval.estimate, interval.low, interval.high))
