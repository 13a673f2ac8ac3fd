"""A report as one page that needs nothing else: no network, no other file, no framework."""

import base64
import hashlib
import io
from collections.abc import Iterator
from importlib.resources import files
from string import Template

from fer_lightning import __version__
from fer_lightning.report.content import Picture, Report, Scatter, Section, Table, Text
from fer_lightning.report.render.html_models import mentioned, model_names
from fer_lightning.report.render.html_scatter import scatter_html
from fer_lightning.report.render.html_table import table_html
from fer_lightning.report.render.html_text import anchor, escape, inline, paragraphs
from fer_lightning.report.render.sprites import data_uri

LARGEST = 15_000_000  # bytes: what can still be sent by mail
# pixels per inch; the first with which the page is small enough. Figures are laid out for the
# first: letters are a little wider at others
RESOLUTIONS = (200, 150, 100, 70)
SCRIPTS = ("page.js", "tables.js", "scatter.js")
CSS_INCH = 120  # an inch of a figure on the screen: 8-point letters are 13 pixels high


def render(report: Report) -> str:
    """Write a report as one HTML document.

    Pictures become PNGs inside it, at a lower resolution where it would otherwise pass 15 MB.
    Names that come from data are escaped, and a policy in the page lets nothing run or load but
    the page's own script, style and pictures.

    Returns:
        The document; save it as UTF-8.

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
    css, js = _part("page.css"), "\n".join(map(_part, SCRIPTS))
    models = model_names(report)
    writer = _Writer(models, resolution)
    sections = [(anchor(s.id, writer.taken), s) for s in report.sections]
    links = "\n".join(f'<li><a href="#{a}">{escape(s.title)}</a></li>' for a, s in sections)
    return Template(_part("page.html")).substitute(
        policy=_policy(css, js),
        title=escape(report.title),
        subtitle=inline(report.subtitle),
        links=links,
        models=_chips(models),
        sections="\n".join(writer.section(a, s) for a, s in sections),
        version=escape(__version__),
        css=css,
        js=js,
    )


class _Writer:
    """Writes sections one after the other; counts tables and figures and remembers anchors."""

    def __init__(self, models: tuple[str, ...], resolution: int) -> None:
        self.models, self.resolution = models, resolution
        self.taken = {"main", "contents"}
        self.tables = self.figures = 0

    def section(self, place: str, section: Section) -> str:
        body = "\n".join(self._items(section))
        return (
            f'<section id="{place}" aria-labelledby="{place}-title">\n'
            f'<h2 id="{place}-title">{escape(section.title)}</h2>\n{body}\n</section>'
        )

    def _items(self, section: Section) -> Iterator[str]:
        texts: list[Text] = []
        for item in section.items:
            if isinstance(item, Text):
                texts.append(item)
                continue
            yield paragraphs(texts)
            texts.clear()
            place = anchor(item.id, self.taken)
            if isinstance(item, Table):
                self.tables += 1
                yield table_html(item, place, self.tables, self.models)
                continue
            self.figures += 1
            if isinstance(item, Scatter):
                yield scatter_html(item, place, self.figures, self.models)
            else:
                yield self._picture(item, place)
        yield paragraphs(texts)

    def _picture(self, picture: Picture, place: str) -> str:
        file = io.BytesIO()
        picture.figure.savefig(file, format="png", dpi=self.resolution, metadata={"Software": None})
        width, height = (round(inches * CSS_INCH) for inches in picture.figure.get_size_inches())
        about = " ".join(map(str, mentioned(picture.id, self.models)))
        models = f' data-models="{about}"' if about else ""
        return (
            f'<figure class="picture" id="{place}"{models}>\n'
            f'<img src="{data_uri(file.getvalue(), "image/png")}" alt="{escape(picture.alt)}" '
            f'width="{width}" height="{height}">\n<figcaption><b>Figure {self.figures}.</b> '
            f"{inline(picture.caption)}</figcaption>\n</figure>"
        )


def _chips(models: tuple[str, ...]) -> str:
    if not models:
        return ""
    chips = "".join(
        f'<button type="button" class="chip" aria-pressed="true" data-model="{place}">'
        f"{escape(name)}</button>"
        for place, name in enumerate(models)
    )
    return (
        '<div class="models" role="group" aria-labelledby="models-title">'
        f'<h2 id="models-title">Models</h2>{chips}</div>'
    )


def _part(name: str) -> str:
    return (files(__package__) / "page" / name).read_text(encoding="utf-8")


def _policy(css: str, js: str) -> str:
    """Allow this style, this script and pictures inside the page; nothing else, no network."""
    style, script = (
        base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in (css, js)
    )
    return (
        f"default-src 'none'; img-src data:; style-src 'sha256-{style}'; "
        f"script-src 'sha256-{script}'; base-uri 'none'; form-action 'none'"
    )
