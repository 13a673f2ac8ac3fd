"""A report as one page that needs nothing else: no network, no other file, no framework.

The templates in ``page/`` escape every value; `marked` is the only way for words to become tags.
"""

import base64
import hashlib
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from itertools import groupby
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from fer_lightning import __version__
from fer_lightning.report.content import Cell, Picture, Report, Scatter, Section, Table, Text
from fer_lightning.report.parts import GAP, format_column, is_numeric, plain_rows, value_of
from fer_lightning.report.render.html_scatter import data_uri, scatter_view

LARGEST = 15_000_000  # bytes: what can still be sent by mail
# pixels per inch; the first with which the page is small enough. Figures are laid out for the
# first: letters are a little wider at others
RESOLUTIONS = (200, 150, 100, 70)
SCRIPTS = ("page.js", "tables.js", "scatter.js")
CSS_INCH = 120  # an inch of a figure on the screen: 8-point letters are 13 pixels high
MODEL_COLUMNS = ("model", "models")
MOST_MODELS = 12  # more chips than that help nobody
WIDE = 8  # columns: more are printed in smaller letters
LONG = 15  # rows: more scroll in a box of their own
KINDS = {20: "k", 40: "w", 120: "s"}  # letters: columns of longer texts get more room
OUTCOMES = {"not supported": "no", "undecided": "open", "supported": "yes"}
_MARKS = re.compile(r"(\*\*.+?\*\*|`[^`]+`)", re.DOTALL)
_CODE = re.compile(r"(`[^`]+`)")
_UNITS = re.compile(r"(?<=\d) (?=%)|(?<=[≥≤]) (?=\d)")  # blanks that no line may end at
_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


def render(report: Report) -> str:
    """Write a report as one HTML document.

    Pictures become PNGs inside it, at a lower resolution where it would otherwise pass 15 MB.
    Names that come from data are escaped, and a policy in the page lets nothing run or load but
    the page's own script, style and pictures.

    Returns:
        The document; save it as UTF-8.

    Raises:
        UserError: a table with an uneven row, or a scatter plot of uneven arrays.

    >>> page = render(Report("A <study>", "drawn faces", (Section("s", "Summary", ()),)))
    >>> page.startswith("<!doctype html>"), "A &lt;study&gt;" in page, "https:" in page
    (True, True, False)
    """
    for resolution in RESOLUTIONS:
        page = _document(report, resolution)
        if len(page) < LARGEST:
            break
    return page


def _document(report: Report, resolution: int) -> str:
    models = model_names(report)
    views = _Views(models, resolution)
    anchors = [views.anchor(section.id) for section in report.sections]
    return _environment().get_template("page.html").render(
        report=report,
        models=models,
        sections=[
            {"anchor": anchor, "title": section.title, "blocks": list(views.blocks(section))}
            for anchor, section in zip(anchors, report.sections, strict=True)
        ],
        css=_part("page.css"),
        js=Markup("\n").join(map(_part, SCRIPTS)),
        version=__version__,
    )  # fmt: skip


@cache
def _environment() -> Environment:
    made = Environment(
        loader=PackageLoader(__package__, "page"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        finalize=_printable,
    )
    made.filters |= {
        "marked": marked,
        "together": together,
        "outcome": outcome_of,
        "parts": lambda text: re.split(r"\n\s*\n", text.strip()),
        "sha256": lambda text: base64.b64encode(hashlib.sha256(text.encode()).digest()).decode(),
    }
    made.tests["code_alone"] = _CODE.fullmatch  # commands to copy
    made.policies["json.dumps_kwargs"] = {
        "separators": (",", ":"),
        "ensure_ascii": False,
        "allow_nan": False,
    }
    return made


def _part(name: str) -> Markup:
    return Markup((files(__package__) / "page" / name).read_text(encoding="utf-8"))


def _printable(value: object) -> object:
    """Replace what no page may hold, in everything that is not one of our own tags."""
    return value if isinstance(value, Markup) else _CONTROLS.sub("�", str(value))


def marked(text: str) -> Markup:
    """Write plain words with their two marks.

    >>> print(marked("**bold `x`** <i> `code **x**`"))
    <strong>bold <code>x</code></strong> &lt;i&gt; <code>code **x**</code>
    """
    return Markup("").join(map(_mark, _MARKS.split(_CONTROLS.sub("�", text))))


def _mark(part: str) -> Markup:
    if len(part) > 4 and part.startswith("**") and part.endswith("**"):
        inner = Markup("").join(map(_mark, _CODE.split(part[2:-2])))
        return Markup("<strong>{}</strong>").format(inner)
    if _CODE.fullmatch(part):
        return Markup("<code>{}</code>").format(part[1:-1])
    return escape(together(part))


def together(text: str) -> str:
    r"""Keep a number and its sign on one line.

    >>> together("at 30 % of <all>, LFR ≥ 1")
    'at 30\xa0% of <all>, LFR ≥\xa01'
    """
    return _UNITS.sub("\N{NO-BREAK SPACE}", text)


def outcome_of(text: str) -> str:
    """Name the outcome that a verdict speaks of first: "yes", "no", "open" or nothing.

    >>> outcome_of("**H2: not supported.** LFR is supported elsewhere."), outcome_of("H3 waits.")
    ('no', '')
    """
    found = re.search("|".join(OUTCOMES), text.lower())
    return OUTCOMES[found.group()] if found else ""


def model_names(report: Report) -> tuple[str, ...]:
    """Collect the models that a reader can hide: those of columns "model" and of t-SNE plots.

    A name that has another one in it as a word, such as "vit (paper)", belongs to that one.

    >>> rows = (("cnn", 1), ("vit", 2), ("vit (paper)", 3), ("cnn", 4))
    >>> table = Table("a", "A.", ("model", "x"), rows)
    >>> model_names(Report("", "", (Section("s", "S", (table,)),)))
    ('cnn', 'vit')
    """
    found = list(dict.fromkeys(name for name in _named(report) if name.strip()))
    apart = [name for name in found if not any(o != name and mentioned(name, (o,)) for o in found)]
    return tuple(apart) if 2 <= len(apart) <= MOST_MODELS else ()


def _named(report: Report) -> Iterator[str]:
    for item in (item for section in report.sections for item in section.items):
        if isinstance(item, Scatter):
            yield from (model.name for model in item.models)
        if isinstance(item, Table):
            for column in _model_columns(item):
                yield from (str(row[column]) for row in item.rows if row[column])


def _model_columns(table: Table) -> list[int]:
    return [i for i, name in enumerate(table.columns) if name.lower() in MODEL_COLUMNS]


def mentioned(text: str, names: Sequence[str]) -> str | None:
    """Give the places of the names that occur in a text as words, in any case.

    >>> mentioned("Swin against cnn", ("cnn", "vit", "swin")), mentioned("vitamin", ("vit",))
    ('0 2', None)
    """
    places = (
        str(place)
        for place, name in enumerate(names)
        if re.search(rf"(?<![^\W_]){re.escape(name)}(?![^\W_])", text, re.IGNORECASE)
    )
    return " ".join(places) or None


class _Views:
    """Lays out sections for the templates; counts tables and figures and remembers anchors."""

    def __init__(self, models: tuple[str, ...], resolution: int) -> None:
        self.models, self.resolution = models, resolution
        self.taken = {"main", "contents"}
        self.tables = self.figures = 0

    def anchor(self, name: str) -> str:
        """Make a name that can stand in a link, once in a page.

        >>> views = _Views((), 100)
        >>> views.anchor("Focus & nulls"), views.anchor("focus nulls"), views.anchor("<>")
        ('focus-nulls', 'focus-nulls-2', 'part')
        """
        plain = re.sub(r"[^a-z0-9_]+", "-", name.lower()).strip("-") or "part"
        numbers = (f"{plain}-{number}" for number in range(2, 1 << 30))
        free = plain if plain not in self.taken else next(n for n in numbers if n not in self.taken)
        self.taken.add(free)
        return free

    def blocks(self, section: Section) -> Iterator[tuple[str, list[Any]]]:
        """Yield what follows each other and is of one kind; verdicts share a list of cards."""
        for kind, items in groupby(section.items, key=_kind):
            yield kind, [item if isinstance(item, Text) else self._view(item) for item in items]

    def _view(self, item: Table | Picture | Scatter) -> dict[str, Any]:
        anchor = self.anchor(item.id)
        if isinstance(item, Table):
            self.tables += 1
            return {"anchor": anchor, "number": self.tables, **table_view(item, self.models)}
        self.figures += 1
        if isinstance(item, Picture):
            view = self._picture(item)
        else:
            view = scatter_view(item)
            for plot in view["plots"]:
                plot["models"] = mentioned(plot["name"], self.models)
        return {"anchor": anchor, "number": self.figures, **view}

    def _picture(self, picture: Picture) -> dict[str, Any]:
        file = io.BytesIO()
        picture.figure.savefig(file, format="png", dpi=self.resolution, metadata={"Software": None})
        width, height = (round(inches * CSS_INCH) for inches in picture.figure.get_size_inches())
        return {
            "picture": picture,
            "models": mentioned(picture.id, self.models),
            "uri": data_uri(file.getvalue(), "image/png"),
            "width": width,
            "height": height,
        }


def _kind(item: Text | Table | Picture | Scatter) -> str:
    return item.kind if isinstance(item, Text) else type(item).__name__.lower()


def table_view(table: Table, models: Sequence[str]) -> dict[str, Any]:
    """Lay out a table; numbers carry their value, so that the page can sort and copy them.

    Raises:
        UserError: a row that is not as long as the head.

    >>> table_view(Table("a", "A.", ("model", "acc"), (("cnn", 0.5),)), ("vit", "cnn"))["rows"]
    [('1', [('cnn', {'class': 'k'}), ('0.5', {'class': 'n', 'data-v': 0.5})])]
    """
    rows = plain_rows(table)
    columns = [[row[place] for row in rows] for place in range(len(table.columns))]
    kinds = [_column_kind(column) for column in columns]
    naming = _model_columns(table) or list(range(len(table.columns)))[:1]
    return {
        "table": table,
        "wide": len(columns) > WIDE,
        "long": len(rows) > LONG,
        "head": list(zip(table.columns, kinds, strict=True)),
        "rows": [
            (
                mentioned(" · ".join(str(row[place]) for place in naming), models),
                [(t, _cell(*about)) for t, *about in zip(texts, row, kinds, texts, strict=True)],
            )
            for row, texts in zip(rows, zip(*map(format_column, columns), strict=True), strict=True)
        ],
    }


def _column_kind(column: Sequence[Cell]) -> str:
    """Class of a column: numbers, names that stay on a line, words, sentences or paragraphs."""
    if is_numeric(column):
        return "n"
    longest = max((len(str(cell)) for cell in column), default=0)
    return next((kind for most, kind in KINDS.items() if longest <= most), "p")


def _cell(cell: Cell, kind: str, text: str) -> Mapping[str, Cell]:
    """Return a cell's attributes: a number is copied from data-v, "2 ± 1" sorted by data-s."""
    about: dict[str, Cell] = {"class": f"{kind} gap" if text == GAP else kind}
    value = value_of(cell) if kind == "n" else None
    if value is not None:
        about |= {"data-s": value} if isinstance(cell, str) else {"data-v": cell}
    return about
