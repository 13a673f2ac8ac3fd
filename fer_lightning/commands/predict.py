"""``fer-lightning predict PICTURES``: find the faces of any pictures and name their expressions.

With ``--config`` and no picture it is Lightning's own: the probabilities of a data set's images.
"""

import argparse
from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from rich.table import Table

from fer_lightning.commands.checkpoints import (
    Checkpoint,
    add_checkpoints,
    load_checkpoints,
    same_classes,
)
from fer_lightning.commands.explain import readable
from fer_lightning.commands.options import Options
from fer_lightning.data import face_finder
from fer_lightning.data.readers.pictures import (
    MIN_SIDE,
    BadPictureError,
    Skipped,
    decode,
    list_pictures,
)
from fer_lightning.data.readers.trees import FolderTree
from fer_lightning.data.readers.videos import frames, is_video_name
from fer_lightning.errors import UserError
from fer_lightning.look.tables import to_csv
from fer_lightning.runs.folder import NOTES, whole_folder, write_json
from fer_lightning.runs.provenance import versions
from fer_lightning.screen import Screen, say

HELP = ("-h", "--help")
OWN = ("--checkpoint", "--out", "--every", "--whole", "--overwrite")
SHOWN = 40  # rows on the terminal
NAMED = 10  # skipped files on the terminal
FILES = ("faces.csv", "faces.json")


def main(argv: list[str]) -> int:
    """Predict the faces of pictures, or let Lightning predict a data set."""
    if not argv:
        raise UserError(
            "expected pictures, folders or videos but got none; name some, or a data set with "
            "--config; see fer-lightning predict --help"
        )
    if not of_pictures(argv):
        from fer_lightning.commands import fit

        return fit.main(["predict", *argv])
    return predict(parser().parse_args(argv))


def of_pictures(argv: Sequence[str]) -> bool:
    """Tell pictures from Lightning's form, which begins with an option and has none of ours.

    >>> of_pictures(["a.png"]), of_pictures(["--every=5", "a.mp4"]), of_pictures(["--config", "a"])
    (True, True, False)
    """
    own = any(word.partition("=")[0] in OWN for word in argv)
    return own or argv[0] in HELP or not argv[0].startswith("-")


def parser() -> argparse.ArgumentParser:
    """Return the options for pictures."""
    options = Options(
        prog="fer-lightning predict",
        description="Find the faces of pictures and name their expressions.",
        epilog="Without pictures: fer-lightning predict --config ... predicts a data set's images "
        "(all its options: fer-lightning predict --config ... --help).",
    )
    options.add_argument("pictures", type=Path, nargs="+", help="pictures, folders or videos")
    add_checkpoints(options, "flagship, which comes with the package")
    options.add_argument("--out", type=Path, help=f"folder for {' and '.join(FILES)}")
    options.add_argument("--every", type=int, default=1, help="look at each N-th frame (1)")
    options.add_argument(
        "--whole", action="store_true", help="each picture is one face: look for none"
    )
    options.add_argument("--overwrite", action="store_true", help="replace an earlier result")
    return options


class Shot(NamedTuple):
    """A picture, or a frame of a video."""

    name: str
    frame: int | None
    pixels: NDArray[np.uint8]  # (H, W) grey or (H, W, 3) RGB


@dataclass
class Predicted:
    """What was found, in the order of reading."""

    faces: list[dict[str, Any]] = field(default_factory=list)  # as in faces.json
    pictures: int = 0  # that were looked at, frames included
    no_face: list[str] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)


def shots(paths: Sequence[Path], every: int, leave_out: Path | None) -> Iterator[Shot | Skipped]:
    """Read pictures and frames one after the other; paths are looked at before that.

    Raises:
        UserError: a path that is nothing, or a folder of far too many files.
    """
    listed = [(path, *list_pictures(path, leave_out)) for path in paths]
    return _shots(listed, every)


def _shots(
    listed: Sequence[tuple[Path, FolderTree, list[str]]], every: int
) -> Iterator[Shot | Skipped]:
    for path, tree, names in listed:
        for name in names:
            shown = readable(str(path / name if path.is_dir() else path))
            try:
                if is_video_name(name):
                    for number, pixels in frames(tree.path / name, every):
                        yield Shot(shown, number, pixels)
                    continue
                ((_, data),) = tree.read([name])
                pixels = decode(data)
                if min(pixels.shape[:2]) < MIN_SIDE:
                    height, width = pixels.shape[:2]
                    few = f"{width}x{height} pixels, expected at least {MIN_SIDE} a side"
                    raise BadPictureError(few)
            except (BadPictureError, UserError) as reason:
                yield Skipped(shown, str(reason))
            except OSError as error:  # of the disk
                yield Skipped(shown, error.strerror or "cannot be read")
            else:
                yield Shot(shown, None, pixels)


def predict_shots(
    shots: Iterable[Shot | Skipped], checkpoints: Sequence[Checkpoint], whole: bool = False
) -> Predicted:
    """Find the faces of each picture and ask every checkpoint about them.

    Args:
        shots: as `shots` gives them; one is held at a time.
        checkpoints: share their classes.
        whole: each picture is one face.
    """
    found = Predicted()
    for shot in shots:
        if isinstance(shot, Skipped):
            found.skipped.append(shot)
            continue
        found.pictures += 1
        pixels = shot.pixels
        faces = [face_finder.whole(pixels)] if whole else face_finder.find_faces(pixels)
        if not faces:
            found.no_face.append(
                shot.name if shot.frame is None else f"{shot.name} frame {shot.frame}"
            )
            continue
        squares = [face_finder.cut(pixels, face) for face in faces]
        answers = {c.name: c.probabilities(c.images(squares)).tolist() for c in checkpoints}
        for number, face in enumerate(faces):
            found.faces.append(
                {
                    "file": shot.name,
                    "frame": shot.frame,
                    "face": number,
                    "box": [face.x, face.y, face.side, face.side],
                    "whole": face.whole,
                    "score": round(face.score, 4),
                    "answers": {
                        one.name: dict(zip(one.classes, answers[one.name][number], strict=True))
                        for one in checkpoints
                    },
                }
            )
    return found


def rows_of(faces: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Lay faces out as rows of a table, one for each face and checkpoint.

    >>> answers = {"vit": {"sad": 0.25, "happy": 0.75}}
    >>> face = {"file": "a.png", "frame": None, "face": 0, "box": [1, 2, 9, 9], "whole": False}
    >>> row = rows_of([face | {"score": 0.9, "answers": answers}])[0]
    >>> row["predicted"], row["probability"], row["frame"], row["p_sad"]
    ('happy', 0.75, '', 0.25)
    """
    rows = []
    for face in faces:
        for name, chances in face["answers"].items():
            best = max(chances, key=chances.__getitem__)
            rows.append(
                {
                    "file": face["file"],
                    "frame": "" if face["frame"] is None else face["frame"],
                    "face": face["face"],
                    **dict(zip(("x", "y", "width", "height"), face["box"], strict=True)),
                    "found": "whole picture" if face["whole"] else "detected",
                    "score": face["score"],
                    "checkpoint": name,
                    "predicted": best,
                    "probability": chances[best],
                    **{f"p_{k}": p for k, p in chances.items()},
                }
            )
    return rows


def predict(args: argparse.Namespace) -> int:
    """Run the command; write what was asked for and print a table."""
    if args.every < 1:
        raise UserError(f"expected --every of at least 1 but got {args.every}")
    reading = shots(args.pictures, args.every, args.out)
    checkpoints = load_checkpoints(args.checkpoint)
    classes = same_classes(checkpoints)
    console = Screen()
    if not args.checkpoint:
        say(console, f"{checkpoints[0].name} answers, which comes with the package")
    place = nullcontext() if args.out is None else whole_folder(args.out, args.overwrite)
    with place as folder:  # a folder that may not be replaced is told before any work
        found = predict_shots(reading, checkpoints, args.whole)
        if not found.faces:
            raise _nothing(found)
        rows = rows_of(found.faces)
        console.print(view(rows, several=len(checkpoints) > 1))
        for line in sentences(found, len(rows), args.out):
            say(console, line)
        if folder is not None:
            _write(folder, found, rows, checkpoints, classes)
    if args.out is not None:
        say(console, f"{' and '.join(FILES)} lie in {args.out}")
    return 0


def _write(
    folder: Path,
    found: Predicted,
    rows: Sequence[dict[str, Any]],
    checkpoints: Sequence[Checkpoint],
    classes: Sequence[str],
) -> None:
    about = {
        "checkpoints": {
            c.name: {"path": str(c.path), "trained_on": c.trained_on} for c in checkpoints
        },
        "classes": classes,
        "no_face": found.no_face,
        "skipped": [{"file": s.name, "reason": s.reason} for s in found.skipped],
    }
    (folder / FILES[0]).write_text(to_csv(rows), encoding="utf-8")
    write_json(folder / FILES[1], about | {"faces": found.faces})
    notes = {"written_by": "fer-lightning predict", "versions": versions()}
    write_json(folder / NOTES, notes | {"files": [*FILES, NOTES]})


def view(rows: Sequence[dict[str, Any]], several: bool) -> Table:
    """Lay out the first rows for the terminal."""
    table = Table("picture")
    for column in ("face", *["checkpoint"] * several, "expression", "probability"):
        table.add_column(column, justify="right" if column == "probability" else "left")
    table.columns[0].overflow = "fold"
    for row in rows[:SHOWN]:
        frame = "" if row["frame"] == "" else f" frame {row['frame']}"
        box = f"{row['width']}x{row['height']} at {row['x']},{row['y']}"
        cells = [
            f"{row['file']}{frame}",
            "whole picture" if row["found"] == "whole picture" else box,
            *[row["checkpoint"]] * several,
            row["predicted"],
            f"{row['probability']:.2f}",
        ]
        table.add_row(*map(str, cells))
    return table


def sentences(found: Predicted, rows: int, out: Path | None = None) -> list[str]:
    """Say what is not on the screen, has no face or is no picture."""
    lines = []
    if rows > SHOWN:
        where = "; --out writes them all" if out is None else f", all in {out / FILES[0]}"
        lines.append(f"and {rows - SHOWN:,} more{where}")
    lines.append(f"faces: {len(found.faces):,}, pictures or frames: {found.pictures:,}")
    skipped = [f"{s.name} ({s.reason})" for s in found.skipped]
    for what, names in (("no face found in", found.no_face), ("skipped", skipped)):
        if names:
            more = f", and {len(names) - NAMED:,} more" if len(names) > NAMED else ""
            lines.append(f"{what} {len(names):,}: {', '.join(names[:NAMED])}{more}")
    return lines


def _nothing(found: Predicted) -> UserError:
    if found.no_face:
        return UserError(
            f"expected a face but found none in {found.no_face[0]} and {len(found.no_face) - 1:,} "
            "others; give --whole if each picture is one face"
        )
    name, reason = found.skipped[0]
    return UserError(f"expected pictures or videos but {name} is none ({reason}); name other files")
