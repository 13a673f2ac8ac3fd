"""Where a result comes from: versions, code, hardware, and what stands in for what."""

import platform
import re
import shlex
import socket
import subprocess
from collections import Counter
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from fer_lightning import __version__

PACKAGES = ("torch", "lightning", "timm", "torchmetrics", "wandb", "numpy", "scikit-learn")
# An absolute path of two parts or more, on any system; addresses such as https://a/b are none.
PATHS = re.compile(r"(?<![\w:/.])(?:[A-Za-z]:\\|/|~/)(?:[^/\\\s'\"=,]+[/\\])+([^/\\\s'\"=,]*)")
ABSOLUTE = re.compile(r"[A-Za-z]:\\|/|~/")
DRAWN = "drawn faces"
REHEARSED = "A rehearsal: one epoch on drawn faces; it decides nothing."


def versions() -> dict[str, str]:
    """Versions of Python, of this package and of those that decide numbers.

    >>> sorted(versions())[:3]
    ['fer-lightning', 'lightning', 'numpy']
    """
    ours = {"fer-lightning": __version__, "python": platform.python_version()}
    return ours | {name: version(name) for name in PACKAGES}


def code_version() -> str | None:
    """Commit of the checkout this code runs from, ``+`` where it was changed; None elsewhere."""
    folder = Path(__file__).parent
    try:
        commit = _git(folder, "rev-parse", "--short=12", "HEAD")
        return commit + ("+" if _git(folder, "status", "--porcelain", "--", ".") else "")
    except (OSError, subprocess.CalledProcessError, subprocess.TimeoutExpired):
        return None  # no git, or installed as a package


def _git(folder: Path, *words: str) -> str:
    done = subprocess.run(
        ["git", "-C", folder, *words], capture_output=True, text=True, check=True, timeout=10
    )
    return done.stdout.strip()


def hardware() -> str:
    """Name the processor in words.

    >>> "threads" in hardware() or " x " in hardware()
    True
    """
    import torch  # here, since whoever reads run folders needs no torch

    if torch.cuda.is_available():
        return f"{torch.cuda.device_count()} x {torch.cuda.get_device_name()}"
    return f"CPU {platform.machine()}, {torch.get_num_threads()} threads"


def substitutions(data: str, wandb_mode: str, device: str) -> list[str]:
    """List what this run uses in place of what a reader would expect.

    >>> substitutions("FER-2013", "online", "cuda")
    []
    """
    found = []
    if data.startswith("drawn faces"):
        found.append(f"{data} instead of FER-2013: the numbers say nothing about real faces")
    if wandb_mode == "offline":
        found.append("W&B offline: upload with `wandb sync`")
    elif wandb_mode == "disabled":
        found.append("W&B disabled: tracked in the run folder only")
    if device == "cpu":
        found.append("CPU instead of a GPU")
    return found


def scrub(value: Any) -> Any:
    """Reduce machine paths in any text to file names, and leave out the machine's name.

    >>> scrub({"command": "fit --config /home/me/vit.yaml --data.data_dir=/data/fer/fer2013.zip"})
    {'command': 'fit --config vit.yaml --data.data_dir=fer2013.zip'}
    """
    if isinstance(value, Mapping):
        return {k: _scrub_command(v) if k == "command" else scrub(v) for k, v in value.items()}
    if isinstance(value, list):
        return [scrub(one) for one in value]
    if not isinstance(value, str):
        return value
    host = socket.gethostname()
    text = value.replace(host, "host") if len(host) > 5 and host != "localhost" else value
    if ABSOLUTE.match(text) and "--" not in text:  # a path and nothing else, perhaps with blanks
        return re.split(r"[/\\]", text.rstrip("/\\"))[-1]
    return PATHS.sub(r"\1", text)


def _scrub_command(command: Any) -> Any:
    """Scrub a command line word by word, because a quoted path may hold blanks."""
    try:
        words = shlex.split(command) if isinstance(command, str) else []
    except ValueError:  # quotes that do not close
        return scrub(command)
    pairs = [word.rpartition("=") for word in words]
    return shlex.join(f"{option}{equals}{scrub(text)}" for option, equals, text in pairs)


def stand_ins(runs: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Name each once, drawn faces first, with the runs that it is true of where not of all.

    >>> stand_ins([{"substitutions": ["CPU instead of a GPU"]}, {}])
    {'CPU instead of a GPU': ' (1 of 2 runs)'}
    """
    used = Counter(str(line) for run in runs for line in run.get("substitutions") or [])
    return {
        line: "" if used[line] == len(runs) else f" ({used[line]} of {len(runs)} runs)"
        for line in sorted(used, key=lambda line: not line.startswith(DRAWN))
    }
