"""One folder for TensorBoard: links to the event files of runs, and converted runs beside them."""

import shutil
from pathlib import Path

from fer_lightning.dashboard.convert import Conversion
from fer_lightning.dashboard.find import find_runs
from fer_lightning.tracking.run_folder import RunFolder


class Logdir:
    """Keeps up with a folder of runs; the runs themselves are only read.

    Args:
        root: the folder of runs.
        place: an empty folder for links and converted runs.
    """

    def __init__(self, root: Path, place: Path) -> None:
        self.root, self.place = root, place
        self.linked: set[str] = set()
        self.converted: dict[str, Conversion] = {}
        self.waiting: list[str] = []  # converted runs that may have new pictures

    def refresh(self) -> list[str]:
        """Show new runs and new epochs; return sentences on what could not be read."""
        told = []
        for name, path in find_runs(self.root).items():
            if name in self.linked:
                continue
            if has_events(path) and self._link(name, path):
                continue
            if name not in self.converted and not has_numbers(path):
                continue  # just begun
            if name not in self.converted:
                self.converted[name] = Conversion(path, self.place / name)
            conversion = self.converted[name]
            if not conversion.complete:
                told += conversion.update()
                self.waiting += [] if name in self.waiting else [name]
        return told

    def show_pictures(self) -> list[str] | None:
        """Show the pictures of one run that waits; None if none does."""
        if not self.waiting:
            return None
        name = self.waiting.pop()
        if name not in self.converted:
            return []
        return [sentence for sentence in self.converted[name].update_pictures() if sentence]

    def unfinished(self) -> list[str]:
        """Names of the runs shown that have no summary: at work, or stopped."""
        runs = find_runs(self.root)
        shown = self.linked | self.converted.keys()
        return [name for name in runs if name in shown and not RunFolder(runs[name]).complete]

    def _link(self, name: str, path: Path) -> bool:
        """Link the event files; where a system has no links, they are converted instead."""
        target = self.place / name
        if name in self.converted:  # it went on with a version that writes event files
            shutil.rmtree(self.converted.pop(name).out, ignore_errors=True)
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            target.symlink_to(RunFolder(path.resolve()).tensorboard, target_is_directory=True)
        except OSError:
            return False
        self.linked.add(name)
        return True


def has_events(run: Path) -> bool:
    """Whether a run wrote event files."""
    return any(RunFolder(run).tensorboard.glob("events.out.tfevents.*"))


def has_numbers(run: Path) -> bool:
    """Whether there is anything to convert."""
    return RunFolder(run).metrics.is_file() or RunFolder(run).complete
