"""What a report is made of, whatever it is written as: sections of text, tables and pictures."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

Cell = str | int | float | None


@dataclass(frozen=True)
class Text:
    """A paragraph.

    Args:
        text: plain words; ``**bold**`` and ```code``` are the only marks.
        kind: how it is meant: ``note`` stands for a substitution or a warning.
    """

    text: str
    kind: Literal["plain", "note", "verdict"] = "plain"


@dataclass(frozen=True)
class Table:
    """A table, also written as ``tables/<id>.csv``.

    Args:
        id: name of the file and anchor in the page.
        caption: what it shows, in one sentence.
        columns: their names.
        rows: numbers stay numbers, so that a reader can sort and reuse them; None is a gap.
        notes: sentences below it.
    """

    id: str
    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Picture:
    """A figure, also written as ``figures/<id>.png`` and ``.pdf``.

    Args:
        id: name of the files and anchor in the page.
        caption: what it shows.
        alt: the same for somebody who cannot see it, with its main numbers.
        figure: what is drawn.
        faces: whether it shows faces, which may not be published with every data set.
    """

    id: str
    caption: str
    alt: str
    figure: Figure
    faces: bool = False


@dataclass(frozen=True)
class Points:
    """One model's t-SNE.

    Args:
        name: of the run.
        xy: (N, 2).
        row: (N,) places of the images in the data set.
        label: (N,) true classes.
        predicted: (N,) answers.
        confidence: (N,) from 0 to 1.
        map_rows: (M,) the images that have a map.
        maps: (M, h, w) heat from 0 to 1.
        quality: how well classes separate, as `separation` of the t-SNE section names it.
    """

    name: str
    xy: NDArray[np.float32]
    row: NDArray[np.int64]
    label: NDArray[np.int64]
    predicted: NDArray[np.int64]
    confidence: NDArray[np.float32]
    map_rows: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    maps: NDArray[np.float32] = field(default_factory=lambda: np.zeros((0, 6, 6), np.float32))
    quality: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Scatter:
    """t-SNE of several models over the same images; in the page a point shows its face.

    Args:
        id: name of the files and anchor in the page.
        caption: what it shows.
        classes: their names.
        models: one plot each.
        face_rows: (F,) the images whose faces are there.
        faces: (F, H, W) or (F, H, W, 3) uint8.
    """

    id: str
    caption: str
    classes: tuple[str, ...]
    models: tuple[Points, ...]
    face_rows: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    faces: NDArray[np.uint8] = field(default_factory=lambda: np.zeros((0, 48, 48), np.uint8))


Item = Text | Table | Picture | Scatter


@dataclass(frozen=True)
class Section:
    """A part of the report with its own heading."""

    id: str
    title: str
    items: tuple[Item, ...]


@dataclass(frozen=True)
class Report:
    """A whole report.

    >>> words = Section("summary", "Summary", (Text("Nothing was measured."),))
    >>> [item.text for item in Report("A study", "drawn faces", (words,)).sections[0].items]
    ['Nothing was measured.']
    """

    title: str
    subtitle: str
    sections: tuple[Section, ...]
