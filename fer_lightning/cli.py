"""The command line: ``python -m fer_lightning.cli COMMAND ...`` or ``fer-lightning COMMAND ...``.

Nothing heavy is imported before the command is known, so that help answers at once.
"""

import os
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

from fer_lightning import __version__
from fer_lightning.errors import UserError, nearest, visible

TRAINING = "fer_lightning.commands.fit"
COMMANDS = {
    "fit": (TRAINING, "train a model, then test its best checkpoint"),
    "validate": (TRAINING, "measure a checkpoint on the validation images"),
    "test": (TRAINING, "measure a checkpoint on the test images"),
    "predict": ("fer_lightning.commands.predict", "name the expressions of faces in pictures"),
    "audit": ("fer_lightning.commands.audit", "count classes, copies, leaks and blank images"),
    "focus": ("fer_lightning.commands.focus", "where a checkpoint looks, beside null controls"),
    "explain": ("fer_lightning.commands.explain", "where a checkpoint looks in any pictures"),
    "demo": ("fer_lightning.commands.demo", "a page where models answer about any face"),
    "export": ("fer_lightning.commands.export", "a checkpoint as an ONNX or TorchScript file"),
    "study": ("fer_lightning.commands.study", "train and compare models x fractions x seeds"),
    "sweep": ("fer_lightning.commands.sweep", "run a W&B sweep file with no account"),
    "report": ("fer_lightning.commands.report", "one page, tables and figures of finished runs"),
    "check": ("fer_lightning.commands.check", "whether runs and caches are what was written"),
    "dashboard": (
        "fer_lightning.commands.dashboard",
        "runs in TensorBoard, or a workspace on W&B",
    ),
    "models": ("fer_lightning.commands.models", "list the models with parameters and cost"),
    "configs": ("fer_lightning.commands.configs", "list the shipped configs, studies and sweeps"),
    "landmarks": ("fer_lightning.commands.landmarks", "find each face's eyes, brows and mouth"),
    "faces": ("fer_lightning.commands.faces", "save a sheet of drawn faces as a picture"),
}
# OpenCV's own bound, beside that of `fer_lightning.data.readers.limits`; it is read once, when
# OpenCV is imported
MAX_PIXELS = {"OPENCV_IO_MAX_IMAGE_PIXELS": "50000000"}
INTERRUPTED = 130  # exit code of a program ended by Ctrl-C


def help_text() -> str:
    """Name every command in one line.

    >>> "audit" in help_text()
    True
    """
    lines = [f"  {name:<10} {what}" for name, (_, what) in COMMANDS.items()]
    return "\n".join(
        [
            f"fer-lightning {__version__}: why one vision architecture beats another on faces",
            "",
            "usage: fer-lightning COMMAND [options]  (or python -m fer_lightning.cli ...)",
            "",
            *lines,
            "",
            "example: fer-lightning fit --config configs/vit.yaml --data.fraction=0.3",
            "details: fer-lightning COMMAND --help",
        ]
    )


def main(argv: list[str] | None = None) -> int:
    """Run one command and return its exit code; a user's mistake is one sentence and code 2."""
    argv = sys.argv[1:] if argv is None else argv
    if not argv or argv[0] in ("-h", "--help", "help"):
        print(help_text())
        return 0
    if argv[0] in ("-V", "--version"):
        print(__version__)
        return 0
    for name, value in MAX_PIXELS.items():
        os.environ.setdefault(name, value)
    if "" not in sys.path and str(Path.cwd()) not in sys.path:
        sys.path.append(str(Path.cwd()))  # a user's own models and callbacks lie there
    try:
        return _command(argv[0])(argv)
    except UserError as error:
        print(f"error: {visible(str(error))}", file=sys.stderr)
        return 2
    except RuntimeError as error:
        if "Symlink loop" not in str(error):
            raise
        print(f"error: expected a file or folder but {visible(str(error))}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return INTERRUPTED


def _command(name: str) -> Callable[[list[str]], int]:
    """Import the module of a command and return its entry point, which takes the whole argv."""
    if name not in COMMANDS:
        raise UserError(f"expected a command but got '{name}'; {nearest(name, COMMANDS)}")
    try:
        module = import_module(COMMANDS[name][0])
    except RuntimeError as error:
        if "torchvision::nms" in str(error):
            raise UserError(
                "expected torch and torchvision of the same build but torchvision does not load on "
                "this torch; install both together: pip install --force-reinstall torch torchvision"
            ) from error
        raise
    return module.main if name in _TAKES_WHOLE else lambda argv: module.main(argv[1:])


_TAKES_WHOLE = {name for name, (module, _) in COMMANDS.items() if module == TRAINING}

if __name__ == "__main__":
    sys.exit(main())
