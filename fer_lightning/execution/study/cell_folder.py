"""The folder of a cell: a run folder, with what its study must know beside."""

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from fer_lightning.execution.study.cells import Cell
from fer_lightning.runs.files import CONTROLS, FILES, atomic, write_json
from fer_lightning.runs.folder import RunFolder
from fer_lightning.runs.identity import RESULT_VERSION

State = Literal["done", "running", "failed", "half-done", "waiting"]
LAST_CONTROL = FILES["randomisation"].name  # written last by ``fer-lightning focus``
REFUSED = "left_out.txt"  # why the controls could not be measured
TAIL = 20_000  # bytes of a log that are looked at


@dataclass(frozen=True)
class CellFolder:
    """Where a cell's run is, or will be.

    Args:
        path: the folder.
        controls: whether a complete run also has the controls of ``fer-lightning focus``.
    """

    path: Path
    controls: bool = True

    @property
    def log(self) -> Path:
        """What the training printed."""
        return self.path / FILES["log"].name

    @property
    def failed(self) -> Path:
        """Says that the training ended with an error."""
        return self.path / FILES["failed"].name

    @property
    def done(self) -> bool:
        """Whether there is nothing left to do."""
        looked = (self.path / CONTROLS / name for name in (LAST_CONTROL, REFUSED))
        there = not self.controls or any(file.is_file() for file in looked)
        return RunFolder(self.path).complete and there

    @property
    def state(self) -> State:
        """What is to be done, as far as files tell: they do not tell whether it runs."""
        if self.done:
            return "done"
        if self.failed.is_file():
            return "failed"
        return "half-done" if RunFolder(self.path).run.is_file() else "waiting"

    def prepare(self, cell: Cell) -> None:
        """Write what the training reads: its configuration, last the note on which cell it is."""
        self.path.mkdir(parents=True, exist_ok=True)
        self.failed.unlink(missing_ok=True)
        config = RunFolder(self.path).config
        if not config.is_file():
            with atomic(config) as file:
                file.write(cell.config_text)
        write_json(self.path / FILES["cell"].name, cell_facts(cell))

    def fail(self, code: int) -> None:
        """Note that the training ended with an error, so that it is not tried again by itself."""
        write_json(
            self.failed,
            {"code": code, "when": datetime.now(UTC).isoformat(timespec="seconds")},
        )

    def last_words(self) -> str:
        """The last line of the log: a sentence where the user can mend it."""
        if not self.log.is_file():
            return "it left no log"
        with self.log.open("rb") as file:
            file.seek(max(0, self.log.stat().st_size - TAIL))
            lines = file.read().decode(errors="replace").splitlines()
        return next((line.strip() for line in reversed(lines) if line.strip()), "its log is empty")


def cell_facts(cell: Cell) -> dict[str, str | float | int]:
    """Content of cell.json."""
    return {
        "model": cell.model,
        "fraction": cell.fraction,
        "seed": cell.seed,
        "identity": cell.identity,
        "result_version": RESULT_VERSION,
    }
