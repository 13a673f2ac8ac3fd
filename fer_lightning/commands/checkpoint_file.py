"""The file that a user means by ``--checkpoint``."""

from pathlib import Path

from fer_lightning.errors import UserError
from fer_lightning.runs.folder import RunFolder
from fer_lightning.training.checkpoint import find_checkpoint

TAKES = "a checkpoint, a run folder, or a name of shipped weights"


def checkpoint_file(given: Path) -> Path:
    """Return a checkpoint: the file itself, the best one of a run folder, or shipped weights.

    Raises:
        UserError: a folder without a best checkpoint.

    >>> checkpoint_file(Path("flagship")).name, checkpoint_file(Path("runs/best.ckpt")).name
    ('flagship.safetensors', 'best.ckpt')
    """
    return best_of(RunFolder(given)) if given.is_dir() else find_checkpoint(given)


def best_of(run: RunFolder) -> Path:
    """Return the best checkpoint of a run.

    Raises:
        UserError: there is none.
    """
    if not run.best_checkpoint.is_file():
        raise UserError(
            f"expected a checkpoint or the folder of a run but {run.path} holds no "
            f"{run.best_checkpoint.relative_to(run.path)}; name a checkpoint"
        )
    return run.best_checkpoint
