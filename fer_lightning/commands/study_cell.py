"""Trains one cell of a study: ``python -m fer_lightning.commands.study_cell FOLDER SAMPLES``.

One process does ``fit`` (which ends with the test) and ``focus``, so that everything is imported
once. Whatever was done before is not done again.
"""

import sys
from pathlib import Path

from fer_lightning.cli import main as cli
from fer_lightning.execution.study.cells import REFUSED, CellFolder
from fer_lightning.runs.files import CONTROLS
from fer_lightning.runs.folder import RunFolder, atomic

USER_ERROR = 2  # exit code of a command that the user must mend


def main(argv: list[str]) -> int:
    """Train, test and look; the exit code is that of the first command that failed.

    Args:
        argv: the cell's folder, and the number of images for ``focus`` (0 leaves it out).
    """
    folder, samples = RunFolder(Path(argv[0])), int(argv[1])
    if not folder.complete:
        code = _run("fit", f"--config={folder.config}", f"--resume={folder.path}")
        if code:
            return code
    if samples and not CellFolder(folder.path).done:
        code = _run("focus", f"--checkpoint={folder.best_checkpoint}", f"--n={samples}")
        if code == USER_ERROR:  # no faces, or too few images: the run itself is complete
            out = folder.path / CONTROLS
            out.mkdir(exist_ok=True)
            with atomic(out / REFUSED) as file:
                file.write("The controls of this run could not be measured; its log says why.\n")
            return 0
        return code
    return 0


def _run(*argv: str) -> int:
    sys.argv = ["fer-lightning", *argv]  # recorded in run.json
    return cli(list(argv))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
