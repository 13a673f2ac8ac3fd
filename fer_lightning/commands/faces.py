"""``fer-lightning faces``: a sheet of drawn faces or defects, or the README's picture."""

from pathlib import Path
from typing import Any, Literal

import numpy as np
from matplotlib.backend_bases import FigureCanvasBase
from matplotlib.figure import Figure

from fer_lightning.commands.options import Options
from fer_lightning.data.defects import drawn_defects
from fer_lightning.data.defects.dataset import CLASSES
from fer_lightning.data.faces import drawn_faces
from fer_lightning.data.image_set import ImageSet
from fer_lightning.data.labels import FER_CLASSES
from fer_lightning.errors import UserError, nearest
from fer_lightning.plots.faces import hero, sheet
from fer_lightning.runs.folder import atomic

# Which face of its class stands in the README: people who differ
CHOSEN = (7, 8, 7, 5, 3, 7, 4)
OFFERED = ("png", "jpg", "webp", "pdf", "svg")  # of what can be written
MOST = 100  # faces in a row; more would be smaller than their pixels


def sheet_figure(
    size: int = 48,
    per_class: int = 10,
    seed: int = 0,
    regions: bool = False,
    cue: Literal["none", "background"] = "none",
    difficulty: float = 0.5,
    defects: bool = False,
    movement: float | None = None,
) -> Figure:
    """Draw faces, or plates with defects, and lay them out, one row per class."""
    if not 1 <= per_class <= MOST:
        raise UserError(f"expected 1 to {MOST} faces per class but got {per_class}; change it")
    if defects:
        size_of_set = len(CLASSES) * per_class
        return sheet(drawn_defects(size_of_set, size, seed, difficulty), per_class, seed, regions)
    faces = drawn_faces(
        len(FER_CLASSES) * per_class,
        seed,
        size,
        cue,
        difficulty=difficulty,
        movement=movement,
        with_masks=regions,
    )
    return sheet(faces, per_class, seed, regions)


def hero_figure(seed: int = 0) -> Figure:
    """Draw one face of each expression, large and at the size that models see."""

    def chosen(size: int) -> ImageSet:
        faces = drawn_faces(7 * (max(CHOSEN) + 1), seed, size, difficulty=0.15)
        rows = [np.flatnonzero(faces.labels == k)[nth] for k, nth in enumerate(CHOSEN)]
        return faces.subset(np.array(rows))

    large, small = chosen(512), chosen(48)
    assert small.masks is not None
    masks = dict(zip(small.mask_regions, small.masks.swapaxes(0, 1), strict=True))
    return hero(large.images[:, 0], small.images[:, 0], masks, FER_CLASSES)


def picture_format(out: Path) -> str:
    """Return the format that the ending of a name asks for.

    Raises:
        UserError: an ending that is no picture's, or a place where no file can be.

    >>> picture_format(Path("faces.PNG"))
    'png'
    """
    ending = out.suffix.removeprefix(".").lower()
    if ending not in FigureCanvasBase.get_supported_filetypes():
        raise UserError(
            f"expected a picture such as faces.png but got '{out.name}'; {nearest(ending, OFFERED)}"
        )
    if not out.absolute().parent.is_dir():
        raise UserError(f"expected a folder for {out} but {out.parent} is none; make it first")
    if out.is_dir():
        raise UserError(f"expected a file to write but {out} is a folder; choose another name")
    return ending


def save(figure: Figure, out: Path, **options: Any) -> None:
    """Write a picture, whole or not at all.

    Raises:
        UserError: as `picture_format`, or the file cannot be written.
    """
    ending = picture_format(out)
    try:
        with atomic(out, "wb") as file:
            figure.savefig(file, format=ending, **options)
    except OSError as error:
        raise UserError(
            f"expected to write {out} but got '{error.strerror}'; choose another file"
        ) from error


def main(argv: list[str]) -> int:
    """Read the arguments, draw, save and say where."""
    parser = Options(prog="fer-lightning faces", description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="picture to write: .png, .pdf, ...")
    parser.add_argument("--size", type=int, default=48, help="side of a face in pixels")
    parser.add_argument("--per-class", type=int, default=10, help="faces in a row")
    parser.add_argument("--seed", type=int, default=0, help="another seed, other people")
    parser.add_argument("--difficulty", type=float, default=0.5, help="0 (clear) to 1 (faint)")
    parser.add_argument("--movement", type=float, help="how far heads turn and wander, 0 to 3")
    parser.add_argument("--regions", action="store_true", help="outline the exact regions")
    parser.add_argument("--cue", action="store_true", help="plant the background cue")
    parser.add_argument("--defects", action="store_true", help="drawn defects instead of faces")
    parser.add_argument("--hero", action="store_true", help="the README's picture instead")
    args = parser.parse_args(argv)
    picture_format(args.out)  # mistakes are named before anything is drawn
    if args.hero:
        save(hero_figure(args.seed), args.out, dpi=185, pil_kwargs={"optimize": True})
    else:
        cue: Literal["none", "background"] = "background" if args.cue else "none"
        figure = sheet_figure(
            args.size,
            args.per_class,
            args.seed,
            args.regions,
            cue,
            args.difficulty,
            args.defects,
            args.movement,
        )
        save(figure, args.out)
    print(f"saved {args.out}")
    return 0
