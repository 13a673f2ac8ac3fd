"""How long `fit` needs to its first training step, against importing the libraries alone."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.harness import Row, compare

ROOT = Path(__file__).parents[1]
LIBRARIES = "import torch, lightning, timm, wandb"
FIT = """
import os, sys
from lightning.pytorch.strategies import Strategy
Strategy.training_step = lambda *args, **kwargs: os._exit(0)
from fer_lightning.cli import main
sys.exit(main(sys.argv[1:]) or 1)
"""
OPTIONS = (
    *("fit", "--config=vit", "--config=smoke", "--wandb.mode=disabled", "--trainer.callbacks=[]"),
    "--data.source=drawn",
)


def python(folder: str, code: str, *options: str) -> None:
    environment = os.environ | {"PYTHONPATH": str(ROOT), "XDG_CACHE_HOME": folder}
    command = [sys.executable, "-c", code, *options]
    subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True)


def measure() -> list[Row]:
    with tempfile.TemporaryDirectory() as folder:
        return [
            compare(
                "`fit` of `vit` on 280 drawn faces to its first step, against `import torch, "
                "lightning, timm, wandb`",
                lambda: python(folder, FIT, *OPTIONS),
                lambda: python(folder, LIBRARIES),
                target=1.5,
                repeats=5,
            )
        ]
