"""t-SNE plots as SVG that can be read without a script, and the data that lets them answer."""

import json
from collections.abc import Sequence
from typing import Any

import matplotlib as mpl
import numpy as np

from fer_lightning.plots.style import check_lengths
from fer_lightning.report.content import Points, Scatter
from fer_lightning.report.marks import placed, points_svg, symbol_svg
from fer_lightning.report.render.html_models import mentioned
from fer_lightning.report.render.html_text import escape, inline
from fer_lightning.report.render.sprites import face_sprite, heat_bytes

HINT = (
    "Point at a mark, or move to a plot with Tab and use the arrow keys, to see the same image in "
    "every plot. Click or Enter keeps it, Escape lets go, Page Up and Page Down visit all images."
)
HEAT_COLOURS = 32


def scatter_html(scatter: Scatter, anchor: str, number: int, models: Sequence[str] = ()) -> str:
    """Write one plot a model, a legend that filters, and room for the face that is pointed at.

    Args:
        scatter: what to write.
        anchor: its place in the page, unique.
        number: "Figure 3" in the caption.
        models: names of `html_models.model_names`; a plot carries the places of those it is about.

    Raises:
        UserError: arrays that do not have one entry for each image.

    >>> one = Points("cnn", np.zeros((1, 2)), *(np.zeros(1, int) for _ in range(3)), np.ones(1))
    >>> text = scatter_html(Scatter("t", "Faces.", ("cat",), (one,)), "t", 1)
    >>> text.count("<svg"), 'aria-label="cnn: 1 image, 1 answered rightly"' in text
    (4, True)
    """
    for points in scatter.models:
        check_lengths(
            label=points.label,
            xy=points.xy,
            row=points.row,
            predicted=points.predicted,
            confidence=points.confidence,
        )
        check_lengths(maps=points.maps, map_rows=points.map_rows)
    check_lengths(faces=scatter.faces, face_rows=scatter.face_rows)
    sprite = face_sprite(scatter.faces)
    image = f'<img class="sprite" src="{sprite.uri}" alt="" hidden>\n' if sprite else ""
    plots = "\n".join(
        _plot(points, len(scatter.classes), mentioned(points.name, models))
        for points in scatter.models
    )
    data = {
        "classes": list(scatter.classes),
        "faces": _places(scatter.face_rows),
        "sprite": sprite and [sprite.width, sprite.height, sprite.columns],
        "heat": _heat_colours(),
        "models": [_data(points) for points in scatter.models],
    }
    return (
        f'<figure class="scatter" id="{anchor}">\n{_legend(scatter)}\n'
        f'<div class="panel" aria-live="polite" aria-atomic="true"><p class="hint">{HINT}</p></div>'
        f'\n<div class="plots">\n{plots}\n</div>\n{image}'
        f'<script type="application/json">{_json(data)}</script>\n'
        f"<figcaption><b>Figure {number}.</b> {inline(scatter.caption)}</figcaption>\n</figure>"
    )


def _plot(points: Points, classes: int, about: Sequence[int]) -> str:
    right = int((points.label == points.predicted).sum())
    count = len(points.label)
    images = "1 image" if count == 1 else f"{count} images"
    share = f"{100 * right / count:.0f} % right" if count else "no images"
    places = " ".join(map(str, about))
    models = f' data-models="{places}"' if places else ""
    label = escape(f"{points.name}: {images}, {right} answered rightly")
    return (
        f'<div class="plot"{models}><h3>{escape(points.name)} <small>{share}</small></h3>'
        f'<svg viewBox="0 0 320 320" role="img" aria-label="{label}">'
        f"{points_svg(points, classes)}</svg></div>"
    )


def _legend(scatter: Scatter) -> str:
    """One chip a class and one each for right and wrong answers; all are pressed at first."""
    chips = [
        f'<button type="button" class="chip" aria-pressed="true" data-class="{place}">'
        f"{symbol_svg(place)}{escape(name)}</button>"
        for place, name in enumerate(scatter.classes)
    ]
    chips += [
        f'<button type="button" class="chip" aria-pressed="true" data-answer="{answer}">'
        f"{symbol_svg(None, answer == 'right')}{answer} ({words})</button>"
        for answer, words in (("right", "filled"), ("wrong", "hollow"))
    ]
    return (
        f'<div class="legend" role="group" aria-label="Classes and answers">{"".join(chips)}</div>'
    )


def _data(points: Points) -> dict[str, Any]:
    keep, xy = placed(points.xy)
    height, width, heat = heat_bytes(points.maps)
    return {
        "name": points.name,
        "x": xy[:, 0].round(1).tolist(),
        "y": xy[:, 1].round(1).tolist(),
        "row": points.row[keep].tolist(),
        "label": points.label[keep].tolist(),
        "predicted": points.predicted[keep].tolist(),
        "percent": (100 * np.nan_to_num(points.confidence[keep]).astype(float)).round(1).tolist(),
        "maps": {"places": _places(points.map_rows), "size": [height, width], "heat": heat},
    }


def _places(rows: np.ndarray) -> dict[str, int]:
    return {str(row): place for place, row in enumerate(rows.tolist())}


def _heat_colours() -> list[list[int]]:
    """Colours of heat from cold to hot; the colder, the more of the face is seen."""
    heat = np.linspace(0, 1, HEAT_COLOURS)
    colours = np.asarray(mpl.colormaps["inferno"](heat))  # the colours of the gallery's overlays
    colours[:, 3] = 0.7 * heat**0.7
    return (255 * colours).round().astype(int).tolist()


def _json(data: object) -> str:
    """Write data that cannot end the script element it stands in."""
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
