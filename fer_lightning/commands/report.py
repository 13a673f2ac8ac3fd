"""``fer-lightning report``: one page, tables and figures from finished run folders."""

import argparse
from pathlib import Path

from fer_lightning.commands.options import Options
from fer_lightning.errors import UserError, visible
from fer_lightning.report.sweep import is_sweep, write_sweep_report
from fer_lightning.report.write import write_report
from fer_lightning.runs.collection import collect
from fer_lightning.runs.find import STUDY


def main(argv: list[str]) -> int:
    """Collect runs and write their report."""
    args = parser().parse_args(argv)
    out = args.out or _place(args.folders)
    one = args.folders[0]
    if len(args.folders) == 1 and is_sweep(one) and not (one / STUDY).is_file():
        return _sweep(one, out, args.wandb)
    collection = collect(args.folders)
    written = write_report(collection, out, faces=not args.no_faces)
    for path, why in collection.left_out.items():
        print(visible(f"Left out: {path}: {why}"))
    if collection.missing:
        print(visible(f"Missing: {', '.join(collection.missing)}"))
    runs = len(collection.runs)
    print(f"{runs} run{'s' if runs != 1 else ''}, {len(written)} files; open {written[0]}")
    if args.wandb:
        print(track(args.wandb, str(collection.study.get("name") or out.resolve().name), written))
    return 0


def _sweep(folder: Path, out: Path, project: str | None) -> int:
    """Write the report of a local sweep."""
    written = write_sweep_report(folder, out)
    print(f"{len(written)} files; open {written[0]}")
    if project:
        print(track(project, folder.resolve().name, written))
    return 0


def track(project: str, name: str, written: list[Path]) -> str:
    """Show on W&B what was written; nothing of W&B is imported without being asked for."""
    from fer_lightning.runs.files import read_csv
    from fer_lightning.tracking.wandb_api import log_report

    tables = {}
    for path in written:
        if path.suffix == ".csv":
            table = read_csv(path).astype(object)
            rows = table.where(table.notna(), None).to_numpy().tolist()
            tables[path.stem] = ([str(column) for column in table.columns], rows)
    figures = [path for path in written if path.suffix == ".png"]
    return log_report(project, name, tables, figures, written[0])


def parser() -> argparse.ArgumentParser:
    """Return the command's options.

    >>> parser().parse_args(["runs", "--no-faces"]).no_faces
    True
    """
    options = Options(prog="fer-lightning report", description=__doc__)
    options.add_argument(
        "folders", type=Path, nargs="+", help="a study's folder, run folders, or a single run's"
    )
    options.add_argument("--out", type=Path, help="where to write; the folder itself if only one")
    options.add_argument("--wandb", metavar="PROJECT", help="show it as a run on W&B, too")
    options.add_argument("--no-faces", action="store_true", help="leave out pictures of faces")
    return options


def _place(folders: list[Path]) -> Path:
    if len(folders) > 1:
        raise UserError(
            f"expected --out with a report of {len(folders)} folders but got none; "
            "name a folder to write into, such as --out report"
        )
    return folders[0]
