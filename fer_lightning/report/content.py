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
    """A paragraph."""

    text: str  # plain words; ``**bold**`` and ```code``` are the only marks
    # how it is meant: ``note`` stands for a substitution or a warning
    kind: Literal["plain", "note", "verdict"] = "plain"


@dataclass(frozen=True)
class Table:
    """A table, also written as ``tables/<id>.csv`` and ``.tex``."""

    id: str  # name of the file and anchor in the page
    caption: str  # what it shows, in one sentence
    columns: tuple[str, ...]  # their names
    # numbers stay numbers, so that a reader can sort and reuse them; None is a gap
    rows: tuple[tuple[Cell, ...], ...]
    notes: tuple[str, ...] = ()  # sentences below it


@dataclass(frozen=True)
class Picture:
    """A figure, also written as ``figures/<id>.png`` and ``.pdf``."""

    id: str  # name of the files and anchor in the page
    caption: str  # what it shows
    alt: str  # the same for somebody who cannot see it, with its main numbers
    figure: Figure  # what is drawn
    faces: bool = False  # whether it shows faces, which may not be published with every data set


@dataclass(frozen=True)
class Points:
    """One model's t-SNE."""

    name: str  # of the run
    xy: NDArray[np.float32]  # (N, 2)
    row: NDArray[np.int64]  # (N,) places of the images in the data set
    label: NDArray[np.int64]  # (N,) true classes
    predicted: NDArray[np.int64]  # (N,) answers
    confidence: NDArray[np.float32]  # (N,) from 0 to 1
    # (M,) the images that have a map
    map_rows: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    # (M, h, w) heat from 0 to 1
    maps: NDArray[np.float32] = field(default_factory=lambda: np.zeros((0, 6, 6), np.float32))
    # how well classes separate, as `separation` of the t-SNE section names it
    quality: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Scatter:
    """t-SNE of several models over the same images; in the page a point shows its face."""

    id: str  # name of the files and anchor in the page
    caption: str  # what it shows
    classes: tuple[str, ...]  # their names
    models: tuple[Points, ...]  # one plot each
    # (F,) the images whose faces are there
    face_rows: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    # (F, H, W) or (F, H, W, 3) uint8
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
