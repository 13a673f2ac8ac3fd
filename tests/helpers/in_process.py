"""Workers that train a study's cells in this process: no imports again, so a tiny cell is quick."""

from fer_lightning.commands import study_cell
from fer_lightning.execution.workers import Ended, nothing


class InProcessWorkers:
    """Trains a cell as soon as it is given; stands in for `LocalWorkers`."""

    free = 1

    def __init__(self, command):
        self.command, self.done = command, []

    def start(self, folder, prepare=nothing):
        folder.path.mkdir(parents=True, exist_ok=True)
        prepare()
        code = self.train(folder)
        self.done.append(Ended(folder.path.name, "failed" if code else "done", code))

    def train(self, folder):
        """Do what the cell's own process would; return its exit code."""
        _, _, module, *words = self.command(folder)
        assert module == study_cell.__name__
        return study_cell.main(words)

    def ended(self):
        found, self.done = self.done, []
        return iter(found)

    def wait(self, seconds):
        """Nothing is ever at work between two calls."""

    def end(self):
        """Nothing is at work."""
