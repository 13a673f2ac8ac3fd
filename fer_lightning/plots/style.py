"""The common look of all figures: sizes in print, colours, letters, captions."""

import textwrap
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import matplotlib as mpl
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
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

REGION_COLOURS = {
    "eyes": SKY,
    "eyebrow": ORANGE,
    "nose": GREEN,
    "mouth": VERMILLION,
    "key": BLUE,
    "all": BLACK,
    "face": YELLOW,
}
# The seven expressions, contempt and two more; each has a marker too: colour alone is too little
CLASS_COLOURS = (VERMILLION, GREEN, PURPLE, ORANGE, BLUE, SKY, GREY, BLACK, "#882255", "#A89F00")
CLASS_MARKERS = ("^", "v", "s", "o", "D", "P", "X", "*", "<", ">")
RIGHT, WRONG = BLUE, VERMILLION

_LOOK = {
    "font.size": 8,
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
