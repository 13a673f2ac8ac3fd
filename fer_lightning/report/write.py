"""Writing a report: one page, Markdown, tables and figures, each whole or not at all."""

import csv
import hashlib
import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_pdf import FigureCanvasPdf
from matplotlib.figure import Figure

from fer_lightning.errors import UserError
from fer_lightning.plots.tsne import tsne_figure
from fer_lightning.report.compose import compose
from fer_lightning.report.content import Picture, Report, Scatter, Table
from fer_lightning.report.render.html import render
from fer_lightning.report.render.latex import latex
from fer_lightning.report.render.markdown import markdown
from fer_lightning.runs.collection import Collection, collect
from fer_lightning.runs.files import FILES, atomic, read_json, write_json
from fer_lightning.runs.foreign import file_name, own_folder

PAGE, WORDS = FILES["report"].name, "report.md"
LIST = "report_files.json"  # what the last report wrote, so that the next one can tidy up
UNDATED = {"CreationDate": None}  # the same numbers give the same PDF


def write_report(collection: Collection, out: Path, faces: bool = True) -> list[Path]:
    """Write ``report.html``, ``report.md``, ``tables/`` and ``figures/``.

    Files of an earlier report that this one does not have are removed; no other file is touched.

    Returns:
        Everything that was written, the page first.

    Raises:
        UserError: there is no run, or the folder cannot be written.
    """
    if collection.runs:  # a place that cannot be written is named before anything is drawn
        _make_folders(out)
    return write_parts(compose(collection, faces), out)


def write_parts(report: Report, out: Path) -> list[Path]:
    """Write a report as page, Markdown, tables and figures; tidy up after an earlier one.

    Raises:
        UserError: the folder cannot be written.
    """
    settle(report)
    _make_folders(out)
    with _writable(out):
        written = [_write(out / PAGE, render(report)), _write(out / WORDS, markdown(report))]
        for table in tables(report):
            name = file_name(table.id)
            written.append(_write(out / "tables" / f"{name}.csv", to_csv(table)))
            written.append(_write(out / "tables" / f"{name}.tex", latex(table)))
        for name, figure in figures(report):
            written += save_figure(figure, out / "figures" / file_name(name))
        _tidy(out, written)
    return written


def write_page(run: Path) -> Path:
    """Write only ``report.html`` of a single run into its folder, as a fit does at its end.

    Raises:
        UserError: the run is not complete, or its folder cannot be written.
    """
    report = compose(collect([run]))
    settle(report)
    with _writable(run):
        return _write(run / PAGE, render(report))


def _make_folders(out: Path) -> None:
    with _writable(out):
        for folder in (out / "tables", out / "figures"):
            own_folder(folder)


@contextmanager
def _writable(out: Path) -> Iterator[None]:
    """Turn the refusal of a folder into one sentence."""
    try:
        yield
    except OSError as error:
        raise UserError(
            f"expected to write a report into {out} but cannot ({error.strerror}); "
            "choose another --out"
        ) from error


def tables(report: Report) -> Iterator[Table]:
    """Yield every table of a report."""
    for section in report.sections:
        yield from (item for item in section.items if isinstance(item, Table))


def settle(report: Report) -> None:
    """Lay out each picture once, and not again at each saving."""
    for section in report.sections:
        for item in section.items:
            if isinstance(item, Picture):
                laid_out(item.figure)


def laid_out(figure: Figure) -> Figure:
    """Put the parts of a figure into their places, where they stay."""
    engine = figure.get_layout_engine()
    if engine is not None:
        engine.execute(figure)
        figure.set_layout_engine("none")
    return figure


def figures(report: Report) -> Iterator[tuple[str, Figure]]:
    """Yield the name and drawing of every figure; t-SNE is drawn here, one picture per model."""
    for section in report.sections:
        for item in section.items:
            if isinstance(item, Picture):
                yield item.id, item.figure
            elif isinstance(item, Scatter):
                for points in item.models:
                    title = f"t-SNE of {points.name}"
                    drawn = tsne_figure(
                        points.xy, points.label, item.classes, points.quality, title
                    )
                    yield f"{item.id}_{points.name}", drawn


def save_figure(figure: Figure, path: Path) -> list[Path]:
    """Save ``<path>.png`` and ``<path>.pdf``.

    Each is drawn once; ``Figure.savefig`` draws twice, to find a layout that is known here.
    """
    laid_out(figure)
    png, pdf = io.BytesIO(), io.BytesIO()
    FigureCanvasAgg(figure).print_png(png)
    FigureCanvasPdf(figure).print_pdf(pdf, metadata=UNDATED)
    written = []
    for kind, buffer in (("png", png), ("pdf", pdf)):
        target = path.with_name(f"{path.name}.{kind}")
        with atomic(target, "wb") as file:
            file.write(buffer.getvalue())
        written.append(target)
    return written


def to_csv(table: Table) -> str:
    r"""Write a table; a gap is empty.

    >>> to_csv(Table("t", "", ("a", "b"), ((1, None),)))
    'a,b\n1,\n'
    """
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(table.columns)
    writer.writerows(table.rows)
    return buffer.getvalue()


def _write(path: Path, text: str) -> Path:
    with atomic(path, "wb") as file:
        file.write(text.encode())
    return path


def _tidy(out: Path, written: list[Path]) -> None:
    """Remove what an earlier report wrote and this one did not, then list what is there now."""
    now = {path.relative_to(out).as_posix(): _hash(path) for path in written}
    for name, known in _listed(out / LIST).items():
        path = out / name
        ours = path.parent in (out / "tables", out / "figures") and not path.is_symlink()
        # a file that somebody else put there, or changed, is not ours to remove
        if name not in now and ours and path.is_file() and _hash(path) == known:
            path.unlink()
    write_json(out / LIST, {"files": dict(sorted(now.items()))})


def changed_files(out: Path) -> list[str]:
    """Name what is missing or was changed since a report was written here; [] without one."""
    return [
        name
        for name, known in _listed(out / LIST).items()
        if (out / name).parent in (out, out / "tables", out / "figures")
        and not ((out / name).is_file() and _hash(out / name) == known)
    ]


def _hash(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _listed(path: Path) -> dict[str, object]:
    """Return the files of an earlier report with their hashes.

    Nothing where there is none, where its list is damaged, or of an earlier version, which kept no
    hashes: then everything stays.
    """
    try:
        found = read_json(path).get("files")
    except UserError:
        return {}
    return found if isinstance(found, dict) else {}
