"""The common look of all figures: sizes in print, colours, letters, captions."""

import textwrap
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, NamedTuple, ParamSpec, TypeVar

import matplotlib as mpl
import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from fer_lightning.errors import UserError

P = ParamSpec("P")
R = TypeVar("R")

SINGLE, MIDDLE, DOUBLE = 3.5, 5.0, 7.0  # widths in inches: one column, one and a half, two
DPI = 200  # pixels per inch of a saved figure, unless savefig is told otherwise
TITLE, SMALL = 9, 6.5  # points; nothing smaller reads well in print
EDGE, LEGEND_ROW = 0.05, 0.16  # inches: free border, one line of a legend

# Okabe and Ito's colours: told apart by colour-blind readers, and by lightness in grey print
BLACK, GREY = "#000000", "#767676"
ORANGE, SKY, GREEN, YELLOW = "#E69F00", "#56B4E9", "#009E73", "#F0E442"
BLUE, VERMILLION, PURPLE = "#0072B2", "#D55E00", "#CC79A7"

FACE_COLOURS = {
    "eyes": SKY,
    "eyebrow": ORANGE,
    "nose": GREEN,
    "mouth": VERMILLION,
    "key": BLUE,
    "all": BLACK,
    "face": YELLOW,
}
OTHER_COLOURS = (BLUE, ORANGE, GREEN, VERMILLION, SKY, PURPLE, YELLOW)


def region_colours(names: Sequence[str]) -> dict[str, str]:
    """Give each region a colour: a face's its own, others by their place.

    >>> region_colours(["eyes", "key"]), region_colours(["defect", "print"])["print"]
    ({'eyes': '#56B4E9', 'key': '#0072B2'}, '#E69F00')
    """
    if set(names) <= set(FACE_COLOURS):
        return {name: FACE_COLOURS[name] for name in names}
    return {name: OTHER_COLOURS[i % len(OTHER_COLOURS)] for i, name in enumerate(names)}


# The seven expressions, contempt and two more; each has a marker too: colour alone is too little
CLASS_COLOURS = (VERMILLION, GREEN, PURPLE, ORANGE, BLUE, SKY, GREY, BLACK, "#882255", "#A89F00")
CLASS_MARKERS = ("^", "v", "s", "o", "D", "P", "X", "*", "<", ">")
RIGHT, WRONG = BLUE, VERMILLION

_LOOK = {
    "font.size": 8,
    "text.parse_math": False,  # a class may be called $a^$
    "axes.titlesize": 8,
    "axes.labelsize": 8,
    "legend.fontsize": 7,
    "legend.frameon": False,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.6,
    "lines.linewidth": 1.3,
}


def styled(draw: Callable[P, R]) -> Callable[P, R]:
    """Let a function draw in the common look, and put the reader's own settings back after it.

    >>> before = mpl.rcParams["font.size"]
    >>> styled(lambda: mpl.rcParams["font.size"])(), mpl.rcParams["font.size"] == before
    (8.0, True)
    """

    @wraps(draw)
    def drawn(*args: P.args, **kwargs: P.kwargs) -> R:
        with mpl.rc_context(_LOOK):  # type: ignore[arg-type]
            return draw(*args, **kwargs)

    return drawn


def new_figure(
    width: float, height: float, title: str = "", caption: str = "", legend_rows: int = 0
) -> Figure:
    """Return an empty figure that belongs to no window and no pyplot list.

    Args:
        width: inches.
        height: inches for the panels; what stands above and below them is added.
        title: above the panels; long lines are broken.
        caption: small letters below everything.
        legend_rows: room for `legend` between panels and caption.

    >>> plain, titled = new_figure(3.5, 2.0), new_figure(3.5, 2.0, "a title", "a caption")
    >>> titled.get_suptitle(), bool(titled.get_figheight() > plain.get_figheight() == 2.0)
    ('a title', True)
    """
    title, caption = wrapped(title, width, TITLE, bold=True), wrapped(caption, width, SMALL)
    above, below = text_height(title, TITLE), text_height(caption, SMALL)
    total = height + above + below + legend_rows * LEGEND_ROW
    panels = (0, (below + legend_rows * LEGEND_ROW) / total, 1, height / total)
    figure = Figure((width, total), DPI, layout=ConstrainedLayoutEngine(rect=panels))
    if title:
        top = {"x": EDGE / width, "y": 1 - EDGE / total, "ha": "left", "va": "top"}
        figure.suptitle(title, fontweight="bold", fontsize=TITLE, **top)
    if caption:
        bottom = {"x": EDGE / width, "y": EDGE / total, "ha": "left", "va": "bottom"}
        figure.supxlabel(caption, fontsize=SMALL, color="0.25", **bottom)
    return figure


def legend(figure: Figure, entries: dict[str, Artist], ncols: int) -> None:
    """Name colours and lines below the panels, in the room that `new_figure` left."""
    bottom = text_height(figure.get_supxlabel(), SMALL) / figure.get_figheight()
    place: dict[str, Any] = {
        "loc": "lower center",
        "bbox_to_anchor": (0.5, bottom),
        "borderaxespad": 0.2,
    }
    place |= {"handletextpad": 0.5, "columnspacing": 1.5}
    figure.legend(list(entries.values()), list(entries), ncols=ncols, **place)


def text_height(text: str, points: float) -> float:
    """Height of a text in inches, with some air; nothing for an empty one."""
    return len(text.split("\n")) * points * 1.25 / 72 + 2 * EDGE if text else 0.0


def wrapped(text: str, width: float, points: float, bold: bool = False) -> str:
    r"""Break lines that are longer than a figure is wide.

    Args:
        text: may have line breaks of its own.
        width: of the figure, in inches.
        points: size of the letters.
        bold: whether they are.

    >>> wrapped("a long sentence", 0.7, 8)
    'a long\nsentence'
    """
    # a letter is about this part of its size wide
    letters = int((width - 2 * EDGE) * 72 / (points * (0.66 if bold else 0.56)))
    lines = (part for line in text.split("\n") for part in textwrap.wrap(line, letters) or [""])
    return "\n".join(line.removesuffix(" ·") for line in lines)


def tidy(axes: Axes) -> None:
    """Give ticks their size here: they are made when drawn, after the common look has gone."""
    axes.tick_params(which="both", labelsize=7, width=0.6, length=2.5)


def blank(axes: Axes) -> None:
    """Take away ticks and frame, for panels that show a picture."""
    axes.set_xticks([])
    axes.set_yticks([])
    axes.spines[:].set_visible(False)


def note(axes: Axes, text: str) -> None:
    """Say in the middle of a panel why nothing is drawn there."""
    place: dict[str, Any] = {"ha": "center", "va": "center", "transform": axes.transAxes}
    axes.text(0.5, 0.5, text, color=GREY, fontsize=7, style="italic", **place)


def check_lengths(**arrays: Sequence[Any] | NDArray[Any]) -> None:
    """Refuse arrays that do not have one entry for each of the same images.

    >>> check_lengths(labels=[0, 1], points=[5, 6, 7])
    Traceback (most recent call last):
    fer_lightning.errors.UserError: expected as many labels as points but got 2 and 3; ...
    """
    (first, known), *others = arrays.items()
    for name, array in others:
        if len(array) != len(known):
            raise UserError(
                f"expected as many {first} as {name} but got {len(known)} and {len(array)}; "
                "give one of each per image"
            )


# --- How models are told apart in every figure that shows several: colour, mark and dashes


COLOURS = (BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY, BLACK)
MARKERS = ("o", "^", "s", "D", "v", "P", "X")
DASHES: tuple[Any, ...] = ("-", (0, (5, 1.5)), (0, (1.5, 1)), (0, (5, 1, 1, 1)))


class ModelLook(NamedTuple):
    """Colour alone is too little in grey print, so each model has all three."""

    colour: str
    marker: str
    dashes: Any


def model_look(place: int) -> ModelLook:
    """Return the look of the model at a place in the study's order.

    >>> model_look(0).marker, model_look(1).marker
    ('o', '^')
    """
    return ModelLook(
        COLOURS[place % len(COLOURS)],
        MARKERS[place % len(MARKERS)],
        DASHES[place % len(DASHES)],
    )


def model_entries(models: Sequence[str]) -> dict[str, Artist]:
    """Return entries of a legend, for `style.legend`.

    >>> list(model_entries(["cnn", "vit"]))
    ['cnn', 'vit']
    """
    looks = {model: model_look(place) for place, model in enumerate(models)}
    return {
        model: Line2D(
            [], [], color=look.colour, marker=look.marker, linestyle=look.dashes, markersize=4
        )
        for model, look in looks.items()
    }


# --- Many small pictures on one panel: quicker to draw than a panel each, and easier to align


def counted(epochs: NDArray[np.float64]) -> NDArray[np.float64]:
    """Count epochs as people do: from 1, where files count from 0.

    >>> counted(np.array([0.0, 1.0])).tolist()
    [1.0, 2.0]
    """
    return epochs + 1


def epoch_axis(axes: Axes) -> None:
    """Mark whole epochs, also where there are one or two."""
    axes.xaxis.set_major_locator(MaxNLocator(6, integer=True, min_n_ticks=1))


def board(
    width: float, columns: float, rows: float, title: str = "", caption: str = ""
) -> tuple[Figure, Axes]:
    """Return a figure with one panel, measured in tiles from its upper left corner.

    Args:
        width: of the figure, in inches.
        columns: width of the panel in tiles; fractions leave room for gaps and letters.
        rows: its height in tiles.
        title: above the panel.
        caption: below it.

    >>> figure, axes = board(7.0, columns=10, rows=4)
    >>> [float(end) for end in (*axes.get_xlim(), *axes.get_ylim())]  # y grows downwards
    [0.0, 10.0, 4.0, 0.0]
    """
    inch = (width - 2 * EDGE) / columns  # of one tile
    figure = new_figure(width, rows * inch + 2 * EDGE, title, caption)
    figure.set_layout_engine("none")
    total = figure.get_figheight()
    below = text_height(figure.get_supxlabel(), SMALL) + EDGE
    axes = figure.add_axes((EDGE / width, below / total, 1 - 2 * EDGE / width, rows * inch / total))
    blank(axes)
    axes.set_aspect("equal")
    axes.set_xlim(0, columns)
    axes.set_ylim(rows, 0)
    return figure, axes


def place(axes: Axes, picture: NDArray[Any], left: float, top: float, **options: Any) -> None:
    """Show a picture one tile wide and high, its pixels as they are.

    Args:
        axes: a `board`.
        picture: (H, W) grey or (H, W, 3) colours, 0 to 255; with `cmap`, any numbers.
        left: place in tiles.
        top: place in tiles, downwards.
        options: for imshow, such as `cmap`, `vmin`, `vmax`.
    """
    limits = axes.get_xlim(), axes.get_ylim()  # imshow moves them
    grey: dict[str, Any] = {"cmap": "gray", "vmin": 0, "vmax": 255}
    # a picture with fewer pixels than the tile keeps its squares, others are smoothed down
    how = "nearest" if len(picture) < 100 else "antialiased"
    extent = (left, left + 1, top + 1, top)
    axes.imshow(np.squeeze(picture), extent=extent, interpolation=how, **(grey | options))
    axes.set_xlim(limits[0])
    axes.set_ylim(limits[1])
