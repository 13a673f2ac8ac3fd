"""The first page: what stands in for what, what was asked, and the verdicts."""

from collections.abc import Mapping
from typing import Any

from fer_lightning.study.collect import Collection
from fer_lightning.study.evidence_of_runs import cells_of, focus_of
from fer_lightning.study.hypotheses import Asked, Verdict, judge_all, read_asked
from fer_lightning.study.report.content import Item, Section, Table, Text
from fer_lightning.study.report.parts import mean, number, pair_of, percent

COLUMNS = (
    "comparison",
    "unit",
    "estimate",
    "low",
    "high",
    "level",
    "p",
    "p_bonferroni",
    "p_holm",
    "d",
    "d_paired",
    "n",
    "excluded",
    "seeds",
    "test",
)


def summary(collection: Collection) -> Section:
    """Tell what a reader must know first."""
    items: list[Item] = [*substitutions(collection), *_gaps(collection)]
    items += _verdicts(judged(collection), collection)
    items.append(_overview(collection))
    return Section("summary", "Summary", tuple(items))


def substitutions(collection: Collection) -> list[Text]:
    """State, once each, what the runs used in place of what a reader would expect."""
    used: dict[str, int] = {}
    for run in collection.runs:
        for line in run.summary.get("substitutions") or []:
            used[str(line)] = used.get(str(line), 0) + 1
    order = sorted(used, key=lambda line: not line.startswith("drawn faces"))
    everywhere = len(collection.runs)
    return [
        Text(
            f"**{line}**"
            + ("" if used[line] == everywhere else f" ({used[line]} of {everywhere} runs)"),
            "note",
        )
        for line in order
    ]


def _gaps(collection: Collection) -> list[Text]:
    found = []
    if collection.missing:
        found.append(
            Text(
                f"**{len(collection.missing)} cells are missing**: "
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


def judged(collection: Collection) -> list[Verdict]:
    """Judge what the study asks, or the paper's hypotheses for its first two models."""
    asked = hypotheses(collection)
    study = collection.study
    fractions = _listed(study, "fractions", float) or list(collection.fractions)
    seeds = _listed(study, "seeds", int) or list(collection.seeds)
    if not asked:
        return []
    return judge_all(asked, cells_of(collection.runs), focus_of(collection.runs), fractions, seeds)


def hypotheses(collection: Collection) -> list[Asked]:
    """Return what the study asks; without a study H1a, H1b and H2 of two models."""
    asked = collection.study.get("hypotheses")
    if isinstance(asked, list) and asked:
        models = [str(name) for name in collection.study.get("models") or collection.models]
        return read_asked(asked, models)
    pair = pair_of(collection)
    return [] if pair is None else [Asked(name, *pair) for name in ("H1a", "H1b", "H2")]


def _listed(study: Mapping[str, Any], name: str, kind: type) -> list[Any]:
    values = study.get(name)
    return [kind(v) for v in values] if isinstance(values, list) else []


def _verdicts(found: list[Verdict], collection: Collection) -> list[Item]:
    if not found:
        why = "A single run" if len(collection.runs) == 1 else "Runs of a single model"
        return [Text(f"{why}: no hypothesis is judged, for each compares two models.")]
    items: list[Item] = [
        Text(f"**{v.hypothesis} {v.outcome}**: {v.statement}. {v.reason}", "verdict") for v in found
    ]
    items.append(
        Table(
            "verdicts",
            "The hypotheses and their verdicts.",
            ("hypothesis", "statement", "outcome", "reason", "to keep in mind"),
            tuple(
                (v.hypothesis, v.statement, v.outcome, v.reason, " ".join(v.caveats)) for v in found
            ),
        )
    )
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
                    "Points are percent of the test images. The interval from low to high has the "
                    "given level; d is Cohen's d as the paper computes it, d_paired that of pairs. "
                    "A p is never 0: its smallest value is set by the number of resamples.",
                ),
            )
        )
    return items


def _cell(value: Any) -> str | int | float | None:
    return value if isinstance(value, str) else number(value, 5)


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
    return Table(
        "overview",
        f"Test accuracy, mean over seeds {', '.join(map(str, collection.seeds))}.",
        ("model", "runs", *(percent(fraction) for fraction in collection.fractions)),
        tuple(rows),
    )


def _accuracy(summary: Mapping[str, Any]) -> Any:
    return summary["test"]["acc"]
