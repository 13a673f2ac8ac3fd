"""Which models a report speaks of, so that a reader can hide some of them."""

import re
from collections.abc import Iterator, Sequence

from fer_lightning.report.content import Report, Scatter, Table

MODEL_COLUMNS = ("model", "models")
MOST = 12  # more chips than that help nobody


def model_names(report: Report) -> tuple[str, ...]:
    """Collect the names in columns called "model" and of the t-SNE plots, each once.

    A name that has another one in it as a word, such as "vit (paper)", belongs to that one.

    >>> from fer_lightning.report.content import Section
    >>> rows = (("cnn", 1), ("vit", 2), ("vit (paper)", 3), ("cnn", 4))
    >>> table = Table("a", "A.", ("model", "x"), rows)
    >>> model_names(Report("", "", (Section("s", "S", (table,)),)))
    ('cnn', 'vit')
    """
    found = list(dict.fromkeys(name for name in _named(report) if name.strip()))
    apart = [name for name in found if not any(o != name and mentioned(name, (o,)) for o in found)]
    return tuple(apart) if 2 <= len(apart) <= MOST else ()


def mentioned(text: str, names: Sequence[str]) -> tuple[int, ...]:
    """Give the places of the names that occur in a text as words, in any case.

    >>> mentioned("Swin against cnn", ("cnn", "vit", "swin")), mentioned("vitamin", ("vit",))
    ((0, 2), ())
    """
    return tuple(
        place
        for place, name in enumerate(names)
        if re.search(rf"(?<![^\W_]){re.escape(name)}(?![^\W_])", text, re.IGNORECASE)
    )


def model_columns(table: Table) -> tuple[int, ...]:
    """Places of the columns that may name a model: those called so, or else the first."""
    named = [i for i, name in enumerate(table.columns) if name.lower() in MODEL_COLUMNS]
    return tuple(named or [0])


def _named(report: Report) -> Iterator[str]:
    for item in (item for section in report.sections for item in section.items):
        if isinstance(item, Scatter):
            yield from (model.name for model in item.models)
        if isinstance(item, Table):
            for column, name in enumerate(item.columns):
                if name.lower() in MODEL_COLUMNS:
                    yield from (str(row[column]) for row in item.rows if row[column])
