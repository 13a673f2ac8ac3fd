"""``fer-lightning landmarks``: where eyes, brows, nose and mouth of each face of a data set are."""

import argparse
import time
from collections.abc import Iterator
from pathlib import Path

import cv2
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import track

from fer_lightning.commands.options import Options
from fer_lightning.data.cache import load
from fer_lightning.data.face_mesh import FACE, RECIPE, FaceMesh
from fer_lightning.data.image_set import ImageSet
from fer_lightning.data.landmarks import ACCEPTED, Landmarks, read_landmarks, write_landmarks
from fer_lightning.data.masks import image_key
from fer_lightning.data.networks import FACE_MESH, fetch_network
from fer_lightning.errors import UserError
from fer_lightning.plots.faces import landmark_sheet
from fer_lightning.runs.files import atomic
from fer_lightning.screen import Screen, say

SAVED_EVERY = 20.0  # seconds
SHOWN = 48  # faces of each kind on the contact sheet


class Progress:
    """Faces found so far, kept beside the result, so that a killed command continues.

    Args:
        path: of the result.
        size: height and width of the pictures.
        key_bytes: of each image's hash that are written.
    """

    def __init__(self, path: Path, size: tuple[int, int], key_bytes: int = 32) -> None:
        self.partial = path.with_name(f"{path.name}.recipe{RECIPE}.part.npz")
        self.path, self.size, self.key_bytes = path, size, key_bytes
        self.points: dict[str, NDArray[np.float32]] = {}
        self.score: dict[str, float] = {}
        self.saved = time.monotonic()
        if self.partial.is_file():
            before = read_landmarks(self.partial)
            names = [key.tobytes().hex() for key in before.keys]
            self.points = dict(zip(names, before.points, strict=True))
            self.score = dict(zip(names, (before.score / 255).tolist(), strict=True))

    def __contains__(self, key: str) -> bool:
        return key in self.points

    def add(self, key: str, points: NDArray[np.float32], score: float) -> None:
        """Keep one face; now and then all of them go to the disk."""
        self.points[key], self.score[key] = points, score
        if time.monotonic() - self.saved > SAVED_EVERY:
            self.write(self.partial)

    def write(self, path: Path, key_bytes: int = 32) -> None:
        """Write all faces, whole or not at all."""
        keys = np.frombuffer(bytes.fromhex("".join(self.points)), np.uint8).reshape(-1, 32)
        points = np.stack(list(self.points.values()))
        score = np.array(list(self.score.values()), np.float32)
        with atomic(path, "wb") as file:
            write_landmarks(file, keys[:, :key_bytes], points, score, self.size)
        self.saved = time.monotonic()

    def finish(self) -> Landmarks:
        """Write the result and remove what was kept for continuing."""
        self.write(self.path, self.key_bytes)
        self.partial.unlink(missing_ok=True)
        return read_landmarks(self.path)


def run(data: ImageSet, out: Path, key_bytes: int, console: Console) -> Landmarks:
    """Find the landmarks of a data set's images, each only once, and write them."""
    size = (data.images.shape[2], data.images.shape[3])
    progress = Progress(out, size, key_bytes)
    if progress.points:
        say(console, f"continuing: {len(progress.points):,} faces were found before")
    mesh = FaceMesh(fetch_network(FACE_MESH))
    for image in _new(data, progress, console):
        progress.add(image_key(image), *mesh(image))
    return progress.finish()


def _new(data: ImageSet, progress: Progress, console: Console) -> Iterator[NDArray[np.uint8]]:
    quiet = not console.is_terminal
    for image in track(data.images, "landmarks", console=console, disable=quiet):
        if image_key(image) not in progress:
            yield image


def counts(data: ImageSet, found: Landmarks) -> tuple[NDArray[np.int64], list[str]]:
    """Places of each image's landmarks, (N,), and sentences that count what was accepted."""
    places = found.find([image_key(image) for image in data.images])
    accepted = found.score[places] > ACCEPTED
    lines = [f"accepted {accepted.sum():,} of {len(data):,} images ({accepted.mean():.1%})"]
    lines += [
        f"  {name}: {accepted[data.labels == k].mean():.1%}"
        for k, name in enumerate(data.classes)
        if (data.labels == k).any()
    ]
    return places, lines


def main(argv: list[str]) -> int:
    """Find landmarks, write them, count them and, if asked, draw a contact sheet."""
    parser = Options(prog="fer-lightning landmarks", description=__doc__)
    parser.add_argument("data", type=Path, help="CSV, folder, zip or tar of the data set")
    parser.add_argument("--out", type=Path, required=True, help="file to write, ending in .npz")
    parser.add_argument("--sheet", type=Path, help="picture of accepted and rejected faces (.png)")
    parser.add_argument("--image-size", type=int, help="side in pixels, if pictures differ in size")
    parser.add_argument("--threads", type=int, default=1, help="of OpenCV (1)")
    parser.add_argument("--key-bytes", type=int, default=32, help="of a hash, 8 to 32 (32)")
    parser.add_argument("--overwrite", action="store_true", help="replace an earlier result")
    args = parser.parse_args(argv)
    _check(args)
    cv2.setNumThreads(args.threads)
    console = Screen()
    data = load(args.data, image_size=args.image_size)
    started, before = time.monotonic(), Progress(args.out, (1, 1)).points
    found = run(data, args.out, args.key_bytes, console)
    places, lines = counts(data, found)
    for line in lines:
        say(console, line)
    new = len(found) - len(before)
    if new:
        each = 1000 * (time.monotonic() - started) / new
        say(console, f"{new:,} different pictures, {each:.1f} ms each")
    if args.sheet is not None:
        _draw(data, found, places, args.sheet)
        say(console, f"contact sheet: {args.sheet}")
    say(console, f"written to {args.out}; use it by --data.landmarks={args.out}")
    return 0


def _check(args: argparse.Namespace) -> None:
    for path, ending in ((args.out, ".npz"), (args.sheet, ".png")):
        if path is None:
            continue
        if path.suffix != ending:
            raise UserError(f"expected a file ending in {ending} but got {path.name}; rename it")
        if not path.absolute().parent.is_dir():
            raise UserError(
                f"expected a folder for {path} but {path.absolute().parent} is none; make it first"
            )
    if args.out.exists() and not args.overwrite:
        raise UserError(
            f"expected a new file but {args.out} exists; choose another or give --overwrite"
        )
    if not 8 <= args.key_bytes <= 32 or args.threads < 1:
        raise UserError(
            f"expected 8 to 32 key bytes and at least 1 thread but got {args.key_bytes} and "
            f"{args.threads}"
        )


def _draw(data: ImageSet, found: Landmarks, places: NDArray[np.int64], path: Path) -> None:
    """Draw some accepted and some rejected faces with their points, the least certain first."""
    score = found.score[places]
    rng = np.random.default_rng(0)
    groups = {}
    for title, those in (("accepted", score > ACCEPTED), ("rejected", score <= ACCEPTED)):
        rows = np.flatnonzero(those)
        rows = rng.permutation(rows)[:SHOWN]
        rows = rows[np.argsort(score[rows], kind="stable")]
        name = (
            f"{title} ({those.sum():,}; score {'above' if title == 'accepted' else 'up to'} {FACE})"
        )
        groups[name] = data.images[rows], found.points[places[rows]], score[rows] / 255
    figure = landmark_sheet(groups)
    FigureCanvasAgg(figure)
    with atomic(path, "wb") as file:
        figure.savefig(file, format="png", dpi=150)
