"""Trains one cell: ``python -m fer_lightning.commands.study_cell FOLDER SAMPLES METHODS CONTROLS``.

One process does ``fit`` (which ends with the test) and ``focus``, so that everything is imported
once. Whatever was done before is not done again: of a finished run only new methods are measured.
"""

import sys
from pathlib import Path
from typing import Literal

from fer_lightning.cli import main as cli
from fer_lightning.execution.study.cells import CellFolder, leave_out
from fer_lightning.execution.study.plan import FocusPlan
from fer_lightning.runs.files import CONTROLS
from fer_lightning.runs.folder import RunFolder

USER_ERROR = 2  # exit code of a command that the user must mend
WHY = "The controls of this run could not be measured; its log says why."


def words_of(focus: FocusPlan | None) -> list[str]:
    """Write what is to be measured as this module's arguments; `plan_of` reads them.

    >>> words_of(None), words_of(FocusPlan(200, ("grad_cam", "occlusion"), "maps"))
    (['0'], ['200', 'grad_cam,occlusion', 'maps'])
    """
    if focus is None:
        return ["0"]
    return [str(focus.samples), ",".join(focus.methods), focus.controls]


def plan_of(words: list[str]) -> FocusPlan | None:
    """Read the arguments after the folder; without methods the usual ones are measured.

    >>> plan_of(["200", "occlusion", "maps"])
    FocusPlan(samples=200, methods=('occlusion',), controls='maps')
    >>> plan_of(["0"]) is None
    True
    """
    samples, *rest = words
    if not int(samples):
        return None
    methods = tuple(rest[0].split(",")) if rest else FocusPlan.methods
    controls: Literal["full", "maps"] = "maps" if rest[1:] == ["maps"] else "full"
    return FocusPlan(int(samples), methods, controls)


def main(argv: list[str]) -> int:
    """Train, test and look; the exit code is that of the first command that failed.

    Args:
        argv: the cell's folder, and what ``focus`` measures: the number of images (0 leaves it
            out), methods with commas, and "full" or "maps".
    """
    folder, plan = RunFolder(Path(argv[0])), plan_of(argv[1:])
    if not folder.complete:
        code = _run("fit", f"--config={folder.config}", f"--resume={folder.path}")
        if code:
            return code
    methods = CellFolder(folder.path, plan).unmeasured
    if plan is None or not methods:
        return 0
    code = _run(
        "focus",
        f"--checkpoint={folder.best_checkpoint}",
        f"--n={plan.samples}",
        f"--method={','.join(methods)}",
        f"--controls={plan.controls}",
    )
    if code == USER_ERROR:  # no faces, or too few images: the run itself is complete
        leave_out(folder.path / CONTROLS, dict.fromkeys(methods, WHY))
        return 0
    return code


def _run(*argv: str) -> int:
    sys.argv = ["fer-lightning", *argv]  # recorded in run.json
    return cli(list(argv))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
