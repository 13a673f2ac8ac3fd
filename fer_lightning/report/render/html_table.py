"""A table as HTML: numbers carry their value, so that the page can sort and copy them."""

from collections.abc import Sequence

import numpy as np

from fer_lightning.errors import UserError
from fer_lightning.report.content import Cell, Table
from fer_lightning.report.numbers import GAP, is_numeric, shown, value_of
from fer_lightning.report.render.html_models import mentioned, model_columns
from fer_lightning.report.render.html_text import escape, inline, together

WIDE = 8  # columns: more are printed in smaller letters
LONG = 15  # rows: more scroll in a box of their own
KINDS = {20: "k", 40: "w", 120: "s"}  # letters: columns of longer texts get more room


def table_html(table: Table, anchor: str, number: int, models: Sequence[str] = ()) -> str:
    """Write a table with its caption above and its notes below.

    Args:
        table: what to write.
        anchor: its place in the page, unique.
        number: "Table 3" in the caption.
        models: names of `html_models.model_names`; a row carries the places of those it is about.

    Raises:
        UserError: a row that is not as long as the head.

    >>> text = table_html(Table("a", "A & b.", ("model", "acc"), (("cnn", 0.5),)), "a", 1)
    >>> '<td class="n" data-v="0.5">0.5</td>' in text, "A &amp; b." in text
    (True, True)
    """
    for row in table.rows:
        if len(row) != len(table.columns):
            raise UserError(
                f"expected {len(table.columns)} cells in each row of table {table.id!r} but got "
                f"{len(row)}; write None for a gap"
            )
    rows = [[_plain(cell) for cell in row] for row in table.rows]
    columns = [[row[place] for row in rows] for place in range(len(table.columns))]
    kinds = [_kind(column) for column in columns]
    texts = list(zip(*map(shown, columns), strict=True))
    naming = model_columns(table)
    head = "".join(
        f'<th scope="col" class="{kind}">{together(name)}</th>'
        for name, kind in zip(table.columns, kinds, strict=True)
    )
    body = "\n".join(
        f"<tr{_about(row, naming, models)}>"
        + "".join(_cell(i, *cell) for i, cell in enumerate(zip(row, text, kinds, strict=True)))
        + "</tr>"
        for row, text in zip(rows, texts, strict=True)
    )
    empty = f'<tr><td class="gap" colspan="{len(table.columns) or 1}">No rows.</td></tr>'
    notes = "".join(f"<li>{inline(note)}</li>" for note in table.notes)
    size = " wide" * (len(table.columns) > WIDE) + " long" * (len(rows) > LONG)
    return (
        f'<figure class="table{size}" id="{anchor}">\n'
        f'<figcaption id="{anchor}-caption"><b>Table {number}.</b> {inline(table.caption)}'
        "</figcaption>\n"
        f'<div class="box" role="region" aria-labelledby="{anchor}-caption">\n'
        f'<table aria-labelledby="{anchor}-caption"><thead><tr>{head}</tr></thead>\n'
        f"<tbody>\n{body or empty}\n</tbody></table></div>\n"
        + (f'<ul class="notes">{notes}</ul>\n' if notes else "")
        + "</figure>"
    )


def _plain(cell: Cell | np.generic) -> Cell:
    """Take NumPy's numbers for Python's."""
    return cell.item() if isinstance(cell, np.generic) else cell


def _kind(column: Sequence[Cell]) -> str:
    """Class of a column: numbers, names that stay on a line, words, sentences or paragraphs."""
    if is_numeric(column):
        return "n"
    longest = max((len(str(cell)) for cell in column), default=0)
    return next((kind for most, kind in KINDS.items() if longest <= most), "p")


def _cell(place: int, cell: Cell, text: str, kind: str) -> str:
    value = value_of(cell) if kind == "n" else None
    # a number is copied from data-v; words such as "2 ± 1" as they stand, sorted by data-s
    name, kept = ("s", value) if isinstance(cell, str) else ("v", cell)
    data = f' data-{name}="{kept!r}"' if value is not None else ""
    tag, scope = ("th", ' scope="row"') if place == 0 else ("td", "")
    gap = " gap" if text == GAP else ""
    return f'<{tag}{scope} class="{kind}{gap}"{data}>{escape(text)}</{tag}>'


def _about(row: Sequence[Cell], naming: Sequence[int], models: Sequence[str]) -> str:
    text = " · ".join(str(row[place]) for place in naming if place < len(row))
    places = " ".join(map(str, mentioned(text, models)))
    return f' data-models="{places}"' if places else ""
