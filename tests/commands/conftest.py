from pathlib import Path

import pytest

from fer_lightning.cli import main

CONFIGS = Path(__file__).parents[2] / "configs"
TINY = [
    *("--model.net=vit", "--model.net.dim=16", "--model.net.depth=1", "--model.net.heads=2"),
    "--trainer.callbacks=[]",
    "--report=false",
]


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Run a command in an empty folder; return exit code, standard output and error.

    The face network is not at hand, whatever the machine has.
    """
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("fer_lightning.data.networks._places", lambda network: [])
    monkeypatch.setenv("WANDB_MODE", "disabled")
    monkeypatch.setenv("COLUMNS", "200")

    def call(*argv):
        code = main(list(map(str, argv)))
        out, err = capsys.readouterr()
        return code, out, err

    return call


@pytest.fixture
def fit(run):
    """Train on few drawn faces: a tiny ViT that nothing looks at, or a shipped config as it is."""

    def call(*options, config=None):
        configs = [
            "--config",
            CONFIGS / f"{config or 'vit'}.yaml",
            "--config",
            CONFIGS / "smoke.yaml",
        ]
        return run("fit", *configs, *([] if config else TINY), *options)

    return call
