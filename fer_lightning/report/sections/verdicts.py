"""The hypotheses: judging them, and their rules, numbers and caveats in full."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from fer_lightning.errors import UserError
from fer_lightning.hypotheses import Asked, Verdict, ask_by_default, judge_all, read_asked
from fer_lightning.hypotheses.evidence import Focus, cells_of, focus_of
from fer_lightning.report.content import Item, Table, Text
from fer_lightning.report.parts import number, pair_of
from fer_lightning.report.sections.registry import Material, section
from fer_lightning.runs.collection import Collection

COLUMNS = (
    *(
        "method",
        "comparison",
        "for",
        "unit",
        "estimate",
        "low",
        "high",
        "level",
        "p",
        "p_bonferroni",
        "p_holm",
        "p_wilcoxon",
    ),
    *("d", "d_paired", "n", "excluded", "seeds", "test"),
)


def judged(collection: Collection) -> list[Verdict]:
    """Judge what the study asks, or the paper's hypotheses for its first two models."""
    asked = hypotheses(collection)
    if not asked:
        return []
    fractions = _listed(collection.study, "fractions", float)
    seeds = _listed(collection.study, "seeds", int)
    planned = bool(fractions and seeds)
    fractions, seeds = fractions or list(collection.fractions), seeds or list(collection.seeds)
    cells, looks = cells_of(collection.runs), _looks(collection)
    return judge_all(asked, cells, looks, fractions, seeds, runs=collection.runs, planned=planned)


def _looks(collection: Collection) -> list[Focus]:
    """Return where runs look; a damaged file leaves its run out, and the focus section says so."""
    found: list[Focus] = []
    for run in collection.runs:
        with suppress(UserError):
            found += focus_of([run], methods=None)
    return found


def hypotheses(collection: Collection) -> list[Asked]:
    """Return what the study asks; without a study the usual hypotheses of two models."""
    asked = collection.study.get("hypotheses")
    if isinstance(asked, list) and asked:
        models = [str(name) for name in collection.study.get("models") or collection.models]
        return read_asked(asked, models)
    pair = pair_of(collection)
    return [] if pair is None else ask_by_default(*pair)


def _listed(study: Mapping[str, Any], name: str, kind: type) -> list[Any]:
    values = study.get(name)
    return [kind(v) for v in values] if isinstance(values, list) else []


@section("verdicts", "The verdicts in detail", place=110)
def verdict_details(material: Material) -> list[Item]:
    """Lay out verdicts with their caveats, rules and numbers."""
    found = material.verdicts
    if not found and len(material.runs.runs) == 1:
        return []
    if not found:
        return [Text("No hypothesis is judged.")]
    items: list[Item] = [
        Table(
            "verdicts",
            "The hypotheses and their verdicts.",
            ("hypothesis", "statement", "outcome", "undecided for", "reason", "to keep in mind"),
            tuple(
                (v.hypothesis, v.statement, v.outcome, v.kind, v.reason, " ".join(v.caveats))
                for v in found
            ),
        )
    ]
    rules = dict.fromkeys((v.hypothesis, v.rule) for v in found)
    items.append(
        Table(
            "rules",
            "The rules by which verdicts are derived; nobody decides by hand.",
            ("hypothesis", "rule"),
            tuple(rules),
        )
    )
    rows = tuple(
        (v.hypothesis, v.statement, *(_cell(row.get(name)) for name in COLUMNS))
        for v in found
        for row in v.numbers
    )
    if rows:
        items.append(
            Table(
                "verdict_numbers",
                "The numbers behind the verdicts.",
                ("hypothesis", "statement", *COLUMNS),
                rows,
                (
                    "Rows for the architecture speak of new trainings, and verdicts rest on them; "
                    "rows for these trainings speak of the trained models as they are, and of "
                    "other test images. Points are percent of the test images. The interval from "
                    "low to high has the given level, and none can be given for an architecture "
                    "of which there is one training; d is Cohen's d as the paper computes it, "
                    "d_paired that of pairs. A p is never 0: its smallest value is set by the "
                    "number of resamples; p_wilcoxon is that of Wilcoxon's signed-rank test over "
                    "images, beside the permutation test; rows without one stand beside those "
                    "that decide.",
                ),
            )
        )
    return items


def _cell(value: Any) -> str | int | float | None:
    return value if isinstance(value, str) else number(value, 5)
