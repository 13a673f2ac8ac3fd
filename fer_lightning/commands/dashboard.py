"""``fer-lightning dashboard``: runs in TensorBoard, also while they train, or laid out on W&B."""

import argparse
import signal
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

from fer_lightning.commands.options import Options
from fer_lightning.errors import UserError, visible

if TYPE_CHECKING:
    from fer_lightning.data.regions import Regions
    from fer_lightning.tracking.dashboard import Logdir

TICK = 3.0  # seconds between looks for new runs
NAMED = 5  # runs named in a sentence


def main(argv: list[str]) -> int:
    """Start the local page and stay until Ctrl-C, or save a workspace on W&B."""
    args = parser().parse_args(argv)
    if args.wandb:
        from fer_lightning.tracking.workspace import save_workspace

        print(f"Workspace: {save_workspace(args.wandb, args.entity, *subject(args.runs))}")
        return 0
    if args.entity:
        raise UserError("expected --wandb PROJECT with --entity but got none; name the project")
    try:
        import tensorboard  # noqa: F401
    except ImportError as error:
        raise UserError(
            "expected TensorBoard but it is not installed; pip install tensorboard"
        ) from error
    return show(args.runs, args.port)


def subject(root: Path) -> tuple["Regions", list[str]]:
    """Which regions and further methods the first readable run in a folder speaks of.

    Without any run: a face's regions and no method but the paper's.
    """
    from fer_lightning.data.regions import FACE
    from fer_lightning.runs.find import find_runs
    from fer_lightning.runs.run import PAPER_METHOD, read_run

    for path in find_runs(root).values() if root.is_dir() else ():
        with suppress(UserError):
            run = read_run(path)
            return run.regions, [name for name in run.methods if name != PAPER_METHOD]
    return FACE, []


def show(root: Path, port: int | None) -> int:
    """Serve a folder of runs until Ctrl-C or SIGTERM."""
    from fer_lightning.tracking.dashboard import Logdir, serve

    with tempfile.TemporaryDirectory(prefix="fer-lightning-dashboard-") as place:
        logdir = Logdir(root, Path(place))
        _tell(logdir.refresh())
        address = serve(Path(place), port)
        signal.signal(signal.SIGTERM, interrupt)
        print(visible(_found(logdir)))
        print(f"TensorBoard: {address}   (Ctrl-C ends it)", flush=True)
        try:
            while True:
                until = time.monotonic() + TICK
                while time.monotonic() < until and (problems := logdir.show_pictures()) is not None:
                    _tell(problems)
                time.sleep(max(0.0, until - time.monotonic()))
                _tell(logdir.refresh())
        except KeyboardInterrupt:
            return 0


def _found(logdir: "Logdir") -> str:
    """Say how many runs there are and which of them are not complete."""
    linked, converted = len(logdir.linked), len(logdir.converted)
    count = linked + converted
    words = f"{count} run{'s' if count != 1 else ''} in {logdir.root}"
    if converted:
        words += f", {converted} of them without event files: converted for this page"
    open_runs = logdir.unfinished()
    if open_runs:
        more = f" and {len(open_runs) - NAMED} more" if len(open_runs) > NAMED else ""
        names = ", ".join(open_runs[:NAMED]) + more
        words += f"\nWithout summary.json (at work, or stopped): {names}"
    return words


def _tell(sentences: list[str]) -> None:
    for sentence in sentences:
        print(visible(f"warning: {sentence}"), file=sys.stderr, flush=True)


def interrupt(number: int, frame: FrameType | None) -> None:
    """End a command on a signal as Ctrl-C does."""
    raise KeyboardInterrupt


def parser() -> argparse.ArgumentParser:
    """Return the command's options.

    >>> parser().parse_args(["runs", "--port", "6007"]).port
    6007
    """
    options = Options(prog="fer-lightning dashboard", description=__doc__)
    options.add_argument(
        "runs", type=Path, nargs="?", default=Path("runs"), help="a folder of runs, or a run's"
    )
    options.add_argument("--port", type=int, help="6006 or the next free one without it")
    options.add_argument(
        "--wandb", metavar="PROJECT", help="lay out the panels of a W&B project instead"
    )
    options.add_argument("--entity", help="user or team on W&B; your default one without it")
    return options
