"""The first page: what stands in for what, what was asked, and the verdicts."""

from collections.abc import Mapping, Sequence
from typing import Any

from fer_lightning.hypotheses import Verdict
from fer_lightning.report.content import Item, Table, Text
from fer_lightning.report.parts import mean, number, percent
from fer_lightning.report.sections.registry import Material, section
from fer_lightning.runs.collection import Collection
from fer_lightning.runs.provenance import stand_ins


@section("summary", "Summary", place=10)
def summary(material: Material) -> list[Item]:
    """Tell what a reader must know first."""
    collection = material.runs
    items: list[Item] = [
        *substitutions([run.summary for run in collection.runs]),
        *_gaps(collection),
    ]
    if material.not_judged:
        items.append(Text(f"The hypotheses are not judged: {material.not_judged}", "note"))
    else:
        items += _cards(material.verdicts, collection)
    return [*items, _overview(collection)]


def substitutions(runs: Sequence[Mapping[str, Any]]) -> list[Text]:
    """State, once each, what the runs used in place of what a reader would expect."""
    return [Text(f"**{line}**{where}", "note") for line, where in stand_ins(runs).items()]


def _gaps(collection: Collection) -> list[Text]:
    found = []
    if collection.missing:
        count = len(collection.missing)
        found.append(
            Text(
                f"**{count} {'cell is' if count == 1 else 'cells are'} missing**: "
                f"{', '.join(collection.missing)}. What rests on them is undecided.",
                "note",
            )
        )
    if len(collection.seeds) == 1:
        found.append(
            Text(
                "**One seed only**: intervals cover the choice of test images, and say nothing of "
                "how much another training seed would change a number.",
                "note",
            )
        )
    return found


def _cards(found: Sequence[Verdict], collection: Collection) -> list[Item]:
    if not found:
        why = "A single run" if len(collection.runs) == 1 else "Runs of a single model"
        return [Text(f"{why}: no hypothesis is judged, for each compares two models.")]
    return [
        *(
            Text(f"**{v.hypothesis} {v.outcome}**: {v.statement}. {v.reason}", "verdict")
            for v in found
        ),
        Text("Their rules, numbers and what to keep in mind stand in `The verdicts in detail`."),
    ]


def _overview(collection: Collection) -> Table:
    """Accuracy of each model at each fraction, in one look."""
    rows = []
    for model in collection.models:
        means = [
            number(mean(_accuracy(run.summary) for run in collection.select(model, fraction)))
            for fraction in collection.fractions
        ]
        runs = len(collection.select(model))
        rows.append((model, runs, *means))
    over = "mean over seeds" if len(collection.seeds) > 1 else "seed"
    return Table(
        "overview",
        f"Test accuracy, {over} {', '.join(map(str, collection.seeds))}.",
        ("model", "runs", *(percent(fraction) for fraction in collection.fractions)),
        tuple(rows),
    )


def _accuracy(summary: Mapping[str, Any]) -> Any:
    return summary["test"]["acc"]
