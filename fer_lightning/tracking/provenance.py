"""Where a result comes from: versions, code, hardware, and what stands in for what."""

import platform
import subprocess
from importlib.metadata import version
from pathlib import Path

import torch

from fer_lightning import __version__

PACKAGES = ("torch", "lightning", "timm", "torchmetrics", "wandb", "numpy", "scikit-learn")


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

    >>> "threads" in hardware() or torch.cuda.is_available()
    True
    """
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
