"""``fer-lightning audit``: counts, copies, near-twins, leaks and blank images of a data set."""

from pathlib import Path
from typing import Unpack

import numpy as np
from rich.console import Console

from fer_lightning.commands.options import Options
from fer_lightning.data.audit import Audit, audit
from fer_lightning.data.cache import load, twins_of
from fer_lightning.data.image_set import ImageSet
from fer_lightning.data.readers import ReadOptions
from fer_lightning.data.twins import AlikeError, Twins, can_search, check_size
from fer_lightning.errors import UserError
from fer_lightning.runs.files import FILES, NearTwins, atomic, write_near_twins
from fer_lightning.runs.find import find_runs
from fer_lightning.runs.folder import RunFolder
from fer_lightning.runs.run import Run, read_run
from fer_lightning.screen import Screen


def run(
    path: Path,
    out: Path | None = None,
    cache_dir: Path | None = None,
    sheet: Path | None = None,
    runs: Path | None = None,
    **options: Unpack[ReadOptions],
) -> Audit:
    """Audit the data set at a path and print the tables.

    Args:
        path: of the data set.
        out: where to write the numbers as JSON.
        cache_dir: where the parsed data set and its near-twins are kept.
        sheet: where to draw pairs of near-twins; it shows faces of the data set.
        runs: finished runs, which then know their test images whose photograph was trained on.
        options: the options of `read`.
    """
    if out is not None and not out.absolute().parent.is_dir():
        raise UserError(
            f"expected a folder for {out}, but {out.absolute().parent} is none; make it first"
        )
    faces = load(path, cache_dir=cache_dir, **options)
    console = Screen()
    twins = _twins(faces, path, cache_dir, console, needed=bool(sheet or runs))
    found = audit(faces, twins)
    for table in found.tables():
        console.print(table)
    by_default = "group" if twins is None else "near"
    console.print(f"--data.duplicates={by_default} unless told otherwise")
    if sheet is not None and twins is not None:
        _draw(faces, twins, sheet)
        console.print(f"pairs of near-twins drawn in {sheet}: real faces, not to be published")
    if runs is not None and twins is not None:
        for name, run_path in find_runs(runs).items():
            console.print(f"{name}: {add_to_run(read_run(run_path), path, cache_dir)}")
    if out is not None:
        _write(out, found.to_json())
        console.print(f"written to {out}")
    return found


def _twins(
    faces: ImageSet, path: Path, cache_dir: Path | None, console: Console, needed: bool
) -> Twins | None:
    """Look for near-twins where this is possible."""
    if needed:
        check_size(faces.images)
    if not can_search(faces.images):
        return None
    try:
        return twins_of(faces, path, cache_dir)
    except AlikeError as alike:
        if needed:
            raise
        console.print(f"near-twins were not counted: {alike}")
        return None


def _draw(faces: ImageSet, twins: Twins, out: Path) -> None:
    from fer_lightning.commands.faces import save
    from fer_lightning.plots.faces import pairs_sheet

    save(pairs_sheet(faces.images, twins.pairs, twins.correlation, twins.mirrored), out)


def add_to_run(run: Run, path: Path, cache_dir: Path | None = None) -> str:
    """Note in a finished run's folder which test images show a photograph that was trained on.

    Args:
        run: of any version; its split is made again from its configuration.
        path: of its data set.
        cache_dir: where the parsed data set and its near-twins are kept.

    Returns:
        What was found, in a sentence.

    Raises:
        UserError: another data set, or another split.
    """
    from fer_lightning.commands.resolve import data_options
    from fer_lightning.data.datamodule import FERDataModule

    folder = RunFolder(run.path)
    options = data_options(folder.config)
    if folder.split.is_file():
        options["manifest"] = str(folder.split)
    here = {"data_dir": str(path), "source": "auto", "cache_dir": cache_dir and str(cache_dir)}
    data = FERDataModule(**options | here)
    if data.image_set.fingerprint != run.fingerprint:
        raise UserError(
            f"expected the data set of {run.path} ({run.summary.get('data')}, {run.fingerprint}) "
            f"but got {data.image_set.name} ({data.image_set.fingerprint}); give its own"
        )
    if not np.array_equal(data.split.test, run.predictions.row):
        raise UserError(
            f"expected the test images of {run.path} but its options lead to others; it was "
            "trained with an older version or with a manifest that is gone"
        )
    assert data.twins is not None  # or `run` had refused the pictures
    test = data.split.test
    seen = test[data.twins.seen(data.split.train)[test]]
    write_near_twins(run.path / FILES["near_twins"].name, NearTwins(run.fingerprint, seen))
    return f"{len(seen):,} of {len(test):,} test images have a twin or near-twin in train"


def main(argv: list[str]) -> int:
    """Read the arguments and run the audit."""
    parser = Options(prog="fer-lightning audit", description=__doc__)
    parser.add_argument("path", type=Path, help="CSV, folder, zip or tar of the data set")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the numbers to FILE too")
    parser.add_argument(
        "--sheet",
        type=Path,
        metavar="FILE",
        help="draw pairs of near-twins, to look at them: .png, .pdf, ...",
    )
    parser.add_argument(
        "--runs",
        type=Path,
        metavar="FOLDER",
        help="note in these finished runs which test images have a near-twin in train",
    )
    parser.add_argument("--image-size", type=int, help="side in pixels, if pictures differ in size")
    parser.add_argument("--ferplus", type=Path, metavar="FILE", help="FERPlus' fer2013new.csv")
    parser.add_argument("--skip-corrupt", action="store_true", help="leave damaged pictures out")
    parser.add_argument("--cache-dir", type=Path, help="where to keep the parsed data set")
    args = parser.parse_args(argv)
    run(
        args.path,
        args.json,
        args.cache_dir,
        args.sheet,
        args.runs,
        image_size=args.image_size,
        ferplus=args.ferplus,
        on_corrupt="skip" if args.skip_corrupt else "error",
    )
    return 0


def _write(path: Path, text: str) -> None:
    """Write a file whole or not at all."""
    try:
        with atomic(path) as file:
            file.write(text + "\n")
    except OSError as error:
        raise UserError(
            f"expected to write {path}, but got {error.strerror}; choose another file"
        ) from None
