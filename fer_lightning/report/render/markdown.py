"""A report as Markdown, with its figures and tables beside it as files."""

from collections.abc import Iterator

from fer_lightning.errors import visible
from fer_lightning.report.content import Cell, Item, Picture, Report, Scatter, Table, Text
from fer_lightning.runs.foreign import file_name

MOST_ROWS = 60  # of a table in the text; its CSV file has all
KINDS = {"note": "> **Note**: ", "verdict": "- ", "plain": ""}


def markdown(report: Report) -> str:
    r"""Write a report whose figures lie in ``figures/`` and whose tables in ``tables/``.

    >>> table = Table("t", "Numbers.", ("a", "b"), ((1, 0.5), (None, "x|y")))
    >>> from fer_lightning.report.content import Section
    >>> page = markdown(Report("Title", "sub", (Section("s", "Part", (table,)),)))
    >>> print(page.split("**Numbers.**")[1].split("([")[0].strip())
    | a | b |
    |---|---|
    | 1 | 0.5 |
    | - | x\|y |
    """
    lines = [f"# {_line(report.title)}", "", _line(report.subtitle), ""]
    for section in report.sections:
        lines += [f"## {_line(section.title)}", ""]
        for item in section.items:
            lines += [*_item(item), ""]
    return "\n".join(lines).rstrip() + "\n"


def _item(item: Item) -> Iterator[str]:
    match item:
        case Text():
            yield KINDS[item.kind] + _line(item.text)
        case Table():
            yield from _table(item)
        case Picture():
            yield f"![{_line(item.alt)}](figures/{file_name(item.id)}.png)"
            yield ""
            yield f"*{_line(item.caption)}* ([PDF](figures/{file_name(item.id)}.pdf))"
        case Scatter():
            yield f"*{_line(item.caption)}*"
            for points in item.models:
                yield ""
                right = 100 * (points.label == points.predicted).sum() / max(len(points.label), 1)
                alt = f"t-SNE of {points.name}: {len(points.row)} images, {right:.0f} % recognised"
                name = file_name(f"{item.id}_{points.name}")
                yield f"![{_line(alt)}](figures/{name}.png)"


def _table(table: Table) -> Iterator[str]:
    yield f"**{_line(table.caption)}**"
    yield ""
    yield f"| {' | '.join(_cell(name) for name in table.columns)} |"
    yield f"|{'---|' * len(table.columns)}"
    for row in table.rows[:MOST_ROWS]:
        yield f"| {' | '.join(_cell(cell) for cell in row)} |"
    yield ""
    rest = len(table.rows) - MOST_ROWS
    more = f"{rest:,} more rows in " if rest > 0 else ""
    name = f"tables/{file_name(table.id)}"
    yield f"({more}[{name}.csv]({name}.csv), [LaTeX]({name}.tex))"
    for line in table.notes:
        yield ""
        yield _line(line)


def _cell(cell: Cell) -> str:
    if cell is None:
        return "-"
    text = f"{cell:,}" if type(cell) is int and cell > 9999 else str(cell)
    return _line(text).replace("|", "\\|")


def _line(text: str) -> str:
    """Keep a text on one line, and its brackets from becoming tags, links and pictures."""
    return visible(" ".join(text.split())).replace("<", "&lt;").replace("](", "]&#40;")
