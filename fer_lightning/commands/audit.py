"""``fer-lightning audit``: counts, copies, leaks and blank images of a data set."""

import argparse
from pathlib import Path
from typing import Unpack

from rich.console import Console

from fer_lightning.data.audit import Audit, audit
from fer_lightning.data.cache import load
from fer_lightning.data.readers import ReadOptions
from fer_lightning.errors import UserError
from fer_lightning.runs.files import atomic


def run(
    path: Path,
    out: Path | None = None,
    cache_dir: Path | None = None,
    **options: Unpack[ReadOptions],
) -> Audit:
    """Audit the data set at a path, print the tables and, if asked, write them as JSON."""
    if out is not None and not out.absolute().parent.is_dir():
        raise UserError(
            f"expected a folder for {out}, but {out.absolute().parent} is none; make it first"
        )
    found = audit(load(path, cache_dir=cache_dir, **options))
    console = Console()
    for table in found.tables():
        console.print(table)
    if out is not None:
        _write(out, found.to_json())
        console.print(f"written to {out}")
    return found


def main(argv: list[str]) -> int:
    """Read the arguments and run the audit."""
    parser = argparse.ArgumentParser(prog="fer-lightning audit", description=__doc__)
    parser.add_argument("path", type=Path, help="CSV, folder, zip or tar of the data set")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the numbers to FILE too")
    parser.add_argument("--image-size", type=int, help="side in pixels, if pictures differ in size")
    parser.add_argument("--ferplus", type=Path, metavar="FILE", help="FERPlus' fer2013new.csv")
    parser.add_argument("--skip-corrupt", action="store_true", help="leave damaged pictures out")
    parser.add_argument("--cache-dir", type=Path, help="where to keep the parsed data set")
    args = parser.parse_args(argv)
    run(
        args.path,
        args.json,
        args.cache_dir,
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
