"""``fer-lightning check``: whether runs, studies and caches are still what was written."""

import argparse
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from fer_lightning.commands.options import Options
from fer_lightning.data.cache import FOLDER, check_entry, is_entry, remove_entry
from fer_lightning.errors import UserError
from fer_lightning.report.write import LIST, PAGE, changed_files, write_page, write_report
from fer_lightning.runs.collection import collect
from fer_lightning.runs.files import FILES
from fer_lightning.runs.find import find_runs
from fer_lightning.runs.hashes import NAME, Finding, check_run
from fer_lightning.screen import Screen

BAD = ("missing", "changed", "damaged")
REPAIR = "made anew by --repair"


def main(argv: list[str]) -> int:
    """Check a folder and say what is missing or changed; exit code 1 if anything is."""
    args = parser().parse_args(argv)
    if not args.folder.is_dir():
        raise UserError(
            f"expected the folder of a run, a study or a cache but there is none at {args.folder}"
        )
    found = list(check(args.folder, args.repair))
    bad = [one for one in found if one.state in BAD]
    lines = [f"{one.state}: {one.file} ({one.advice})" for one in bad]
    before = sum(one.state == "not hashed" for one in found)
    if before:
        lines.append(
            f"{before} files have no hash (runs of an earlier version, or written since); they "
            "can be read"
        )
    lines.append(f"{len(found)} files in {args.folder}: {len(bad)} missing or changed")
    Screen().print("\n".join(lines), highlight=False, soft_wrap=True)
    return 1 if bad else 0


def check(folder: Path, repair: bool = False) -> Iterator[Finding]:
    """Check everything in a folder: a cache's entries, or runs and the report about them.

    Args:
        folder: of a run, a study or a cache.
        repair: make anew what follows from other files.

    Raises:
        UserError: there is neither a run nor an entry of a cache.
    """
    paths = (folder, *sorted(folder.iterdir()), *sorted(folder.glob(f"{FOLDER}/*")))
    entries = [path for path in paths if is_entry(path)]
    for entry in entries:
        yield _entry(entry, repair)
    runs = find_runs(folder)
    if not entries and not runs:
        raise UserError(
            f"expected the folder of a run, a study or a cache but {folder} holds neither "
            f"{FILES['summary'].name} nor entries of a cache"
        )
    for name, path in runs.items():
        prefix = "" if path == folder else f"{name}/"
        found = list(_run(path))
        yield from (one._replace(file=prefix + one.file) for one in found)
        if repair and not any(one.state in BAD for one in found):
            _write_page(path)
    if runs:
        yield from _report(folder, repair)


def _run(path: Path) -> Iterator[Finding]:
    if not (path / FILES["summary"].name).is_file() and not (path / NAME).is_file():
        yield Finding(
            FILES["summary"].name, "missing", "the run is not complete: go on with --resume"
        )
        return
    yield from check_run(path)


def _write_page(path: Path) -> None:
    """Write a run's own page where it is missing."""
    if not (path / PAGE).is_file():
        with suppress(UserError):  # a run that only measures another's has none
            write_page(path)


def _report(folder: Path, repair: bool) -> Iterator[Finding]:
    """The report in a folder, by the hashes that it keeps of its own files."""
    changed = changed_files(folder)
    if changed and repair:
        write_report(collect([folder]), folder)
        changed = changed_files(folder)
    yield from (Finding(name, "changed", REPAIR) for name in changed)
    if not changed and (folder / LIST).is_file():
        yield Finding(LIST, "whole")


def _entry(entry: Path, repair: bool) -> Finding:
    damage = check_entry(entry)
    if not damage:
        return Finding(entry.name, "whole")
    if repair:
        remove_entry(entry)  # the next start reads the data set again
        return Finding(entry.name, "whole")
    return Finding(entry.name, "changed", f"{damage}; {REPAIR}")


def parser() -> argparse.ArgumentParser:
    """Return the command's options.

    >>> parser().parse_args(["runs/vit", "--repair"]).repair
    True
    """
    options = Options(prog="fer-lightning check", description=__doc__)
    options.add_argument("folder", type=Path, help="of a run, a study or a cache")
    options.add_argument(
        "--repair",
        action="store_true",
        help="make anew what follows from other files: pages, reports, entries of a cache",
    )
    return options
