"""The package as it is installed: a wheel in an environment of its own, in an empty folder."""

import os
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

slow = pytest.mark.slow
ROOT = Path(__file__).parents[1]
SKIPPED = {"__pycache__"}


def checked(command, folder):
    """Run a command outside of the checkout and return what it printed."""
    hidden = ("PYTHONPATH", "VIRTUAL_ENV")
    env = {name: value for name, value in os.environ.items() if name not in hidden}
    env |= {"WANDB_MODE": "offline", "COLUMNS": "80", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    done = subprocess.run(
        list(map(str, command)), cwd=folder, env=env, capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    target = tmp_path_factory.mktemp("dist")
    checked([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", target], ROOT)
    return next(target.glob("*.whl"))


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    """Return the folder of programs of an environment that has the wheel.

    Everything else is that of the running environment; a checkout that is installed there does not
    show through, because only its folders are added and not what they link to.
    """
    place = tmp_path_factory.mktemp("venv")
    venv.create(place, with_pip=True)
    python = place / "bin/python"
    checked([python, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", wheel], place)
    packages = next(place.glob("lib/python*/site-packages"))
    others = [path for path in sys.path if path.endswith(("site-packages", "dist-packages"))]
    (packages / "others.pth").write_text("\n".join(others))
    return place / "bin"


@pytest.fixture
def run(installed, tmp_path):
    def call(*words):
        return checked([installed / "fer-lightning", *words], tmp_path)

    return call


def test_the_wheel_holds_every_file(wheel):
    folders = {name: f"fer_lightning/{name}" for name in ("configs", "sweeps")}
    folders["fer_lightning"] = "fer_lightning"
    wanted = {
        f"{inside}/{path.relative_to(ROOT / folder).as_posix()}"
        for folder, inside in folders.items()
        for path in (ROOT / folder).rglob("*")
        if path.is_file() and not SKIPPED & {*path.parts}
    }
    held = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    assert held == wanted
    assert "fer_lightning/py.typed" in held


@slow
def test_it_is_the_wheel_that_runs(installed, tmp_path):
    code = (
        "import fer_lightning, fer_lightning.shipped as s; print(fer_lightning.__file__, s.root())"
    )
    file, root = checked([installed / "python", "-c", code], tmp_path).split()
    assert Path(file).is_relative_to(installed.parent)
    assert Path(root) == Path(file).parent


@slow
def test_lists_what_is_shipped(run):
    words = run("configs").split()
    assert {"vit", "smoke", "cifar/vit_tiny", "drawn_faces", "learning_rate"} <= {*words}


@slow
def test_trains_by_name(run, tmp_path):
    assert "vit on drawn faces" in run("fit", "--config", "vit", "--config", "smoke")
    assert (tmp_path / "runs/vit-seed42/summary.json").is_file()
    assert (tmp_path / "runs/vit-seed42/report.html").is_file()  # its page is package data


@slow
def test_plans_a_study_by_name(run):
    printed = run("study", "drawn_faces", "--dry-run")
    assert "0 of 8 cells are done" in printed


@slow
def test_plans_a_sweep_by_its_path_in_a_checkout(run):
    printed = run("sweep", "sweeps/learning_rate.yaml", "--count", "2", "--dry-run")
    assert "learning_rate-002" in printed
