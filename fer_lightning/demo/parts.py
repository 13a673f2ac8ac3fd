"""Parts of the page as HTML; every text in them is escaped."""

import math
from collections.abc import Mapping, Sequence

from jinja2 import Environment, PackageLoader

from fer_lightning.data.regions import FACE
from fer_lightning.demo.faces import Answers, Map, moved
from fer_lightning.plots.style import FACE_COLOURS

HTML = Environment(
    autoescape=True,
    trim_blocks=True,
    lstrip_blocks=True,
    loader=PackageLoader("fer_lightning", "demo"),
)


def bars(now: Answers, before: Answers | None = None, patch: Answers | None = None) -> str:
    """Draw the answers side by side; the earlier ones above each bar, in grey.

    Args:
        now: by checkpoint, the probability of each class.
        before: the answers with nothing hidden; with it goes
        patch: the answers with as much of the background hidden.

    >>> page = bars({"<vit>": {"sad": 0.25, "happy": 0.75}})
    >>> "&lt;vit&gt;" in page, page.count('class="bar"'), "moved" in page
    (True, 2, False)
    """
    models = []
    for name, chances in now.items():
        old = before[name] if before else None
        best = max(chances, key=chances.__getitem__)
        rows = [
            {"name": k, "now": p, "before": old[k] if old else None, "top": k == best}
            for k, p in chances.items()
        ]
        models.append(
            {
                "name": name,
                "rows": rows,
                "moved": moved(old, chances) if old else None,
                "patch": moved(old, patch[name]) if old and patch else None,
            }
        )
    return HTML.get_template("answers.html").render(models=models)


def focus_table(
    maps: Sequence[Map], nulls: Mapping[str, Mapping[str, float]], regions_from: str
) -> str:
    """Lay out LFR by region: a column a map, then those of maps that know nothing."""
    own = "those of this face, from its landmarks"
    mean = "those of the mean face of FER-2013, for this face's own could not be found"
    return HTML.get_template("focus.html").render(
        maps=maps,
        nulls=nulls,
        regions=FACE.rows,
        colours={
            name: FACE_COLOURS.get(name) if name in FACE.parts else None for name in FACE.rows
        },
        number=lambda value: "no heat" if math.isnan(value) else f"{value:.2f}",
        regions_from=own if regions_from == "landmarks" else mean,
    )
