"""Accuracy against the option that a study varied, beside the share of training data."""

from fer_lightning.plots.trade_off import Point, accuracy_by_value
from fer_lightning.report.content import Item, Picture, Table
from fer_lightning.report.parts import about, number, percent
from fer_lightning.report.sections.accuracy import level_of
from fer_lightning.report.sections.registry import Material, section
from fer_lightning.runs.collection import Collection

Value = int | float | str | bool | None


@section("varied", "Accuracy against what was varied", place=32)
def varied(material: Material) -> list[Item]:
    """Draw and list accuracies by the option's value; nothing where none was varied."""
    collection = material.runs
    options = {str(run.varied["option"]) for run in collection.runs if run.varied}
    items: list[Item] = []
    for option in sorted(options):
        rows = _rows(collection, option)
        numeric = all(isinstance(row[1], int | float) for row in rows)
        if numeric and len({row[1] for row in rows}) > 1:
            items.append(_picture(collection, option, rows))
        items.append(_table(option, rows))
    return items


Row = tuple[str, Value, float, Point]  # model before it was varied, value, fraction, accuracy


def _rows(collection: Collection, option: str) -> list[Row]:
    found: dict[tuple[str, str, float], Row] = {}
    for run in collection.runs:
        if run.varied.get("option") == option:
            model, value = str(run.varied["model"]), run.varied["value"]
            key = (model, str(value), run.fraction)
            if key not in found:
                level = level_of(collection, run.model, run.fraction)
                x = float(value) if isinstance(value, int | float) else 0.0
                found[key] = (model, value, run.fraction, Point(x, *level[1:]))
    return list(found.values())


def _picture(collection: Collection, option: str, rows: list[Row]) -> Picture:
    points: dict[str, list[Point]] = {}
    several = len({fraction for _, _, fraction, _ in rows}) > 1
    for model, _, fraction, point in rows:
        name = f"{model}, {percent(fraction)}" if several else model
        points.setdefault(name, []).append(point)
    return Picture(
        "accuracy_by_value",
        f"Test accuracy over {option}.",
        "; ".join(
            f"{name}: " + ", ".join(f"{p.mean:.3f} at {p.x:g}" for p in some)
            for name, some in points.items()
        ),
        accuracy_by_value(
            points,
            option,
            f"Accuracy by {option}: {about(collection)}",
            "Bars: 95 % intervals over test images, and trainings where there are several. Small "
            "dots: single seeds.",
        ),
    )


def _table(option: str, rows: list[Row]) -> Table:
    return Table(
        "accuracy_by_value",
        f"Test accuracy by {option}, mean over seeds.",
        ("model", option, "training data", "seeds", "accuracy", "low", "high"),
        tuple(
            (
                model,
                str(value) if isinstance(value, bool) else value,
                percent(fraction),
                len(point.seeds),
                *map(number, (point.mean, point.low, point.high)),
            )
            for model, value, fraction, point in rows
        ),
        ("Low to high: 95 % interval.",),
    )
