"""Writing the page of a sweep, its tables and its figures."""

from pathlib import Path

from fer_lightning.study.report.write import write_parts
from fer_lightning.sweep.report.compose import compose_sweep
from fer_lightning.sweep.results import write_table
from fer_lightning.sweep.state import STATE, read_state
from fer_lightning.sweep.trial import Reader


def is_sweep(folder: Path) -> bool:
    """Whether a folder is that of a local sweep."""
    return (folder / STATE).is_file()


def write_sweep_report(folder: Path, out: Path | None = None) -> list[Path]:
    """Write ``report.html``, ``report.md``, ``tables/``, ``figures/`` and ``sweep.csv``.

    Args:
        folder: of the sweep.
        out: where to, if not there.

    Returns:
        Everything that was written, the page first.

    Raises:
        UserError: nothing was measured yet, or the folder cannot be written.
    """
    state = read_state(folder)
    reader = Reader(state.sweep.metric, state.sweep.goal)
    written = write_parts(compose_sweep(state, reader), out or folder)
    return [*written, write_table(state, reader)]
