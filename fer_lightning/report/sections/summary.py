"""The first screen: the story in a sentence and a picture, what was asked, and the answers."""

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from fer_lightning.errors import UserError
from fer_lightning.hypotheses import Verdict
from fer_lightning.report.content import Item, Table, Text
from fer_lightning.report.parts import mean, number, percent
from fer_lightning.report.sections.accuracy import accuracy_picture
from fer_lightning.report.sections.learning import largest_class, learning_picture
from fer_lightning.report.sections.registry import Material, section
from fer_lightning.runs.collection import Collection
from fer_lightning.runs.provenance import DRAWN, REHEARSED, stand_ins
from fer_lightning.runs.run import Run

MOST_NAMED = 4  # models in the first sentence
MOST_TIED = 3  # classes that are known equally well
ANSWERS = {"supported": "Yes, supported", "not supported": "No, not supported"}


@section("summary", "Summary", place=10)
def summary(material: Material) -> list[Item]:
    """Tell what a reader must know first."""
    collection = material.runs
    picture = None
    with suppress(UserError):  # a damaged file is named where it is needed
        picture = (accuracy_picture if len(collection.runs) > 1 else learning_picture)(collection)
    rehearsed = bool(collection.study.get("rehearsed"))
    items: list[Item] = [
        *([Text(f"**{REHEARSED}**", "note")] if rehearsed else []),
        *substitutions([run.summary for run in collection.runs]),
        Text(story(collection)),
        *([picture] if picture else []),
        *_gaps(collection),
    ]
    if material.not_judged:
        items.append(Text(f"The hypotheses are not judged: {material.not_judged}", "note"))
    else:
        items += _cards(material.verdicts, collection)
    return [*items, _overview(collection)]


def substitutions(runs: Sequence[Mapping[str, Any]], about_data: bool = True) -> list[Text]:
    """State, once each, what the runs used in place of what a reader would expect.

    Args:
        runs: their summaries.
        about_data: the data, which a reader must know first; otherwise how the runs were made.
    """
    return [
        Text(f"**{line}**{where}", "note")
        for line, where in stand_ins(runs).items()
        if line.startswith(DRAWN) == about_data
    ]


def story(collection: Collection) -> str:
    """Tell the result in a sentence: of one run, of two models, or of several."""
    if len(collection.runs) == 1:
        return _story_of_run(collection.runs[0])
    common = [
        fraction
        for fraction in collection.fractions
        if all(collection.select(model, fraction) for model in collection.models)
    ]
    fraction = max(common or collection.fractions)
    there = [model for model in collection.models if collection.select(model, fraction)]
    reached = {
        model: mean(_accuracy(run.summary) for run in collection.select(model, fraction))
        for model in there
    }
    order = sorted(reached, key=lambda model: -reached[model])
    shown = order if len(order) <= MOST_NAMED else [*order[: MOST_NAMED - 1], order[-1]]
    named = [f"`{model}` **{reached[model]:.1%}**" for model in shown]
    runs = [str(len(collection.select(model, fraction))) for model in shown]
    count = runs[0] if len(set(runs)) == 1 else f"{', '.join(runs[:-1])} and {runs[-1]}"
    trainings = "training" if set(runs) == {"1"} else "trainings"
    each = " each" if len(set(runs)) == 1 < len(runs) else ""
    least = f" (the least of {len(order)} models)" if len(shown) < len(order) else ""
    words = f"{', '.join(named[:-1])} and {named[-1]}" if len(named) > 1 else named[0]
    return (
        f"With {percent(fraction)} of the training data these shares of the test images are "
        f"answered right: {words}{least}, over {count} {trainings}{each}."
    )


def _story_of_run(run: Run) -> str:
    test = run.summary["test"]
    recall = {
        name: value for name, value in (test.get("recall") or {}).items() if value is not None
    }
    epochs = run.summary.get("epochs")
    trained = f" after {epochs} epoch{'s' if epochs > 1 else ''}" if epochs else ""
    return (
        f"`{run.model}` answers **{test['acc']:.1%}** of {len(run.predictions.label):,} test "
        f"images right{trained}, where the largest class alone would give "
        f"{largest_class(run):.1%}.{best_and_worst(recall)}"
    )


def best_and_worst(recall: Mapping[str, float]) -> str:
    """Name the classes that a model knows best and least; many that tie are counted.

    >>> best_and_worst({"happy": 0.9, "fear": 0.2, "sad": 0.2})
    ' It knows happy best (90%) and fear and sad least (20%).'
    >>> best_and_worst({"happy": 0.5, "fear": 0.5}), best_and_worst({"happy": 0.5})
    (' It knows all classes equally well (50%).', '')
    """
    if len(recall) < 2:
        return ""
    most, least = max(recall.values()), min(recall.values())
    if most == least:
        return f" It knows all classes equally well ({most:.0%})."
    best, worst = ([n for n, v in recall.items() if v == end] for end in (most, least))
    return f" It knows {_these(best)} best ({most:.0%}) and {_these(worst)} least ({least:.0%})."


def _these(classes: Sequence[str]) -> str:
    """Name up to `MOST_TIED` classes.

    >>> _these(["a"]), _these(["a", "b", "c"]), _these("abcd")
    ('a', 'a, b and c', '4 classes')
    """
    if len(classes) > MOST_TIED:
        return f"{len(classes)} classes"
    return " and ".join(filter(None, (", ".join(classes[:-1]), classes[-1])))


def question(statement: str) -> str:
    """Turn a claim into a question.

    >>> question("cnn is ahead of vit at 30 %"), question("cnn looks more at eyes than vit")
    ('Is cnn ahead of vit at 30 %?', 'Does cnn look more at eyes than vit?')
    >>> question("some method tells where to look")
    'Is it so that some method tells where to look?'
    """
    is_so = re.match(r"(.+?) is (.+)", statement)
    if is_so:
        return f"Is {is_so[1]} {is_so[2]}?"
    looks = re.match(r"(.+?) looks (.+)", statement)
    return f"Does {looks[1]} look {looks[2]}?" if looks else f"Is it so that {statement}?"


def _gaps(collection: Collection) -> list[Text]:
    found = []
    if not collection.study and len(collection.models) > 1:
        found.append(
            Text(
                "**No plan**: there is no study.json beside these runs, so what was found is taken "
                "for what was planned. Whoever planned more tests needs wider intervals.",
                "note",
            )
        )
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
                "how much another training seed would change a number. So nothing that compares "
                "architectures is decided.",
                "note",
            )
        )
    return found


def _cards(found: Sequence[Verdict], collection: Collection) -> list[Item]:
    if not found:
        why = "A single run" if len(collection.runs) == 1 else "Runs of a single model"
        return [Text(f"{why}: no hypothesis is judged, for each compares two models.")]
    waiting = [v for v in found if not v.numbers and v.reason.startswith("Missing:")]
    cards = [
        Text(
            f"**{question(v.statement)} {ANSWERS.get(v.outcome, 'Undecided')}.** {v.reason} "
            f"({v.hypothesis})",
            "verdict",
        )
        for v in found
        if v not in waiting
    ]
    if waiting:
        asked = " ".join(f"{question(v.statement)} ({v.hypothesis})" for v in waiting)
        cards.append(Text(f"**Not answered yet**, for cells are missing: {asked}"))
    return [
        *cards,
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
