"""A model in a user's own file: named on the command line, trained, checkpointed and loaded."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from fer_lightning.models import MODELS, register_model
from fer_lightning.training.checkpoint import load_net

SMOKE = Path(__file__).parents[2] / "configs" / "smoke.yaml"
OUTSIDE = Path(__file__).parents[1] / "helpers" / "outside_net.py"
OPTIONS = (
    "--config",
    SMOKE,
    "--trainer.callbacks=[]",
    "--report=false",
    "--model.net.width=6",
    "--data.drawn.size=70",
)


@pytest.fixture
def user_module(tmp_path):
    """The module ``my_nets`` in the folder in which the command is called."""
    (tmp_path / "my_nets.py").write_text(OUTSIDE.read_text().replace("OutsideNet", "UserNet"))
    yield "my_nets"
    sys.modules.pop("my_nets", None)


def test_fit_and_load_by_import_path(run, tmp_path, user_module):
    code, _, err = run("fit", "--model.net=my_nets.UserNet", *OPTIONS)
    assert code == 0, err
    (folder,) = (tmp_path / "runs").iterdir()
    assert folder.name == "usernet-seed42"
    assert json.loads((folder / "summary.json").read_text())["model"] == "user_net"
    net, about = load_net(folder / "checkpoints" / "best.ckpt")
    assert type(net) is sys.modules["my_nets"].UserNet
    assert about["net"]["name"] == "my_nets.UserNet"
    assert net.init_args["width"] == 6

    code, _, err = run("fit", "--model.net=my_nets.UserNet", *OPTIONS, "--resume")
    assert (code, "This run is complete" in err) == (0, True)

    where = repr(str(folder / "checkpoints" / "best.ckpt"))
    alone = (
        "from fer_lightning.training.checkpoint import load_net\n"
        "from fer_lightning.errors import UserError\nimport sys\n"
        f"try:\n    load_net({where})\nexcept UserError as error:\n    print(error)\n"
        "assert 'my_nets' not in sys.modules\nimport my_nets\n"
        f"print(type(load_net({where})[0]).__name__)"
    )
    done = subprocess.run(
        [sys.executable, "-c", alone], capture_output=True, text=True, cwd=tmp_path
    )
    assert "got 'my_nets.UserNet'; register it first" in done.stdout, done.stderr
    assert done.stdout.splitlines()[-1] == "UserNet"


def test_fit_by_registered_name(run, tmp_path, user_module, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    import my_nets

    register_model("my_net")(my_nets.UserNet)
    try:
        code, _, err = run("fit", "--model.net=my_net", *OPTIONS)
        assert code == 0, err
        (folder,) = (tmp_path / "runs").iterdir()
        net, about = load_net(folder / "checkpoints" / "best.ckpt")
    finally:
        MODELS.pop("my_net")
    assert about["net"]["name"] == "my_net"
    assert net.init_args["width"] == 6
