import re
import shlex
from pathlib import Path

import pytest

from fer_lightning.cli import COMMANDS

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()
BLOCKS = re.findall(r"```sh\n(.*?)```", README, re.DOTALL)


def test_ci_runs_the_readmes_test_command():
    assert BLOCKS[1].strip() in (ROOT / ".ci/run").read_text()


@pytest.mark.parametrize(
    "path", sorted(set(re.findall(r"(?:configs|docs|sweeps)/[\w./-]+\w", README)))
)
def test_named_files_exist(path):
    assert (ROOT / path).exists()


@pytest.mark.parametrize("line", re.findall(r"fer-lightning ([^\\\n]*)", README))
def test_commands_exist(line):
    assert shlex.split(line.split("`")[0], comments=True)[0] in COMMANDS


@pytest.mark.parametrize("path", sorted((ROOT / "configs").rglob("*.yaml")), ids=lambda p: p.name)
def test_configs_open_with_their_command(path):
    head = re.match(r"(#.*\n)+", path.read_text())
    name = path.relative_to(ROOT).as_posix()
    way = "study" if path.parent.name == "study" else "fit --config"
    assert head is not None
    assert f"#   fer-lightning {way} {name}" in head[0] or f"--config {name}" in head[0]
