"""Whether models are as often right as they claim to be."""

from fer_lightning.plots.answers import reliability_diagram
from fer_lightning.report.content import Item, Picture, Table
from fer_lightning.report.parts import about, by_cell, examples, mean, number, percent
from fer_lightning.report.sections.registry import Material, section
from fer_lightning.runs.collection import Collection
from fer_lightning.runs.run import Run


@section("calibration", "Calibration", place=90)
def calibration(material: Material) -> list[Item]:
    """List ECE beside its floor, and draw one run per model."""
    collection = material.runs
    items: list[Item] = [_table(collection)]
    for model, run in examples(collection).items():
        ece, floor = _value(run, "ece"), _value(run, "ece_floor")
        answers = run.predictions
        items.append(
            Picture(
                f"reliability_{model}",
                f"Accuracy against confidence of {run.shown_as}.",
                f"ECE {ece:.3f}, floor {floor:.3f}, mean confidence "
                f"{answers.probabilities.max(1).mean():.3f}, accuracy {answers.correct.mean():.3f}",
                reliability_diagram(
                    answers.probabilities.max(1),
                    answers.correct,
                    ece,
                    floor,
                    title=f"{run.shown_as}, test images of {about(collection)}",
                ),
            )
        )
    return items


def _value(run: Run, name: str) -> float:
    return mean([run.summary["test"].get(name)])


def _table(collection: Collection) -> Table:
    rows = []
    for model, fraction, runs in by_cell(collection):
        names = ("ece", "ece_floor", "nll")
        numbers = (number(mean(_value(run, name) for run in runs)) for name in names)
        claimed = mean(float(run.predictions.probabilities.max(1).mean()) for run in runs)
        right = mean(float(run.predictions.correct.mean()) for run in runs)
        rows.append((model, percent(fraction), *numbers, number(claimed), number(right)))
    return Table(
        "calibration",
        "Expected calibration error (ECE) beside the floor that chance gives a perfectly "
        "calibrated model.",
        ("model", "training data", "ECE", "floor", "NLL, nats", "mean confidence", "accuracy"),
        tuple(rows),
        (
            "Means over seeds. An ECE near its floor says nothing. Confidence above accuracy: the "
            "model claims too much.",
        ),
    )
