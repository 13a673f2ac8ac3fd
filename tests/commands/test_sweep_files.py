"""The shipped sweep files: W&B's schema takes them, W&B's agent's command lines are ours."""

import re
from pathlib import Path

import pytest
import yaml
from wandb import wandb_agent

from fer_lightning.commands.resolve import resolve
from fer_lightning.commands.sweep import check_options, configuration, fit_options
from fer_lightning.execution.study.cells import make_cells
from fer_lightning.execution.study.plan import read_study
from fer_lightning.execution.sweep.file import read_sweep
from fer_lightning.execution.sweep.search import check_search, corners, draw, grid_size, sweeps
from fer_lightning.execution.sweep.trial import Reader
from fer_lightning.runs.identity import decisive, identity

ROOT = Path(__file__).parents[2]
FILES = sorted((ROOT / "sweeps").glob("*.yaml"))
READER = Reader("val/acc", "maximize")


@pytest.fixture(autouse=True)
def _at_the_top(monkeypatch, tmp_path):
    monkeypatch.chdir(ROOT)  # where users and agents are started
    monkeypatch.setenv("WANDB_DIR", str(tmp_path))


def agents_command(monkeypatch, sweep, point):
    """The command line with which W&B's own agent starts a run."""
    started = []
    monkeypatch.setattr(
        wandb_agent, "AgentProcess", lambda command, **_: started.append(command) or _Process()
    )
    for name in ("SWEEP_ID", "RUN_ID", "SWEEP_PARAM_PATH"):  # the agent sets them, too
        monkeypatch.setenv(f"WANDB_{name}", "abc")
    agent = object.__new__(wandb_agent.Agent)
    agent._sweep_command = list(sweep.content["command"])
    agent._in_jupyter = agent._function = agent._forward_signals = None
    agent._run_processes = {}
    args = {name: {"value": value} for name, value in point.items()}
    agent._command_run({"run_id": "r", "program": "x", "args": args})
    return started[0]


class _Process:
    last_sigterm_time = None


def test_there_are_these():
    names = ["attentive_pooling", "augmentation", "data_efficiency"]
    fair = [f"fair_{model}" for model in ("cnn", "hybrid_vit", "swin", "vit")]
    assert [path.stem for path in FILES] == [*names, *fair, "learning_rate", "vit_locality"]


def test_fair_sweeps_differ_in_the_model_alone():
    """The same budget, the same ingredients; Swin's start is its own."""
    found = {}
    for path in FILES:
        if path.stem.startswith("fair_"):
            model = path.stem.removeprefix("fair_")
            text = path.read_text()
            assert text.count("--count 16") == 2
            content = yaml.safe_load(text.replace(model, "MODEL"))
            content["parameters"].pop("model.net.init", None)
            found[model] = content
    assert len(found) == 4
    assert all(content == found["vit"] for content in found.values())


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_sweep_file_names_only_what_there_is(path, monkeypatch):
    content = yaml.safe_load(path.read_text())
    assert sweeps.schema_violations_from_proposed_config(content) == []
    sweep = read_sweep(path)
    check_search(sweep)
    assert content["project"] == "fer_lightning"
    point = draw(sweep, [], READER, seed=1)
    words = agents_command(monkeypatch, sweep, point)
    assert words[:5] == ["/usr/bin/env", "python", "-m", "fer_lightning.cli", "fit"]
    assert fit_options(sweep, point) == words[5:], "a local sweep runs what an agent runs"
    config = configuration(sweep, point)
    for name, value in point.items():
        if name not in ("config", "model.net"):
            assert at(config, name) == value
    assert (config["wandb"]["group"], config["wandb"]["tags"]) == (path.stem, ["sweep"])
    check_options(sweep)  # every listed value and both ends of every range


def at(config, name):
    for part in name.replace("model.net.", "model.net.init_args.").split("."):
        config = config[part]
    return config


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_sweep_file_opens_with_its_commands(path):
    head = re.match(r"(#.*\n)+", path.read_text())[0]
    name = f"sweeps/{path.name}"
    method = yaml.safe_load(path.read_text())["method"]
    assert f"#   wandb sweep {name}\n" in head
    assert f"fer-lightning sweep {name}" in head
    assert ("--count" in head) == (method != "grid")
    assert re.search(r"#   wandb agent (--count \d+ )?ENTITY/PROJECT/ID", head)


@pytest.mark.parametrize("seed", range(12))
def test_every_model_of_vit_locality_can_be_made(seed):
    """Patch sizes belong to ViTs, divide 48, and the regulariser needs [CLS] attention."""
    from fer_lightning.models import HybridViT, ViT
    from fer_lightning.training.losses.attention_regulariser import check_kind

    point = draw(read_sweep(ROOT / "sweeps/vit_locality.yaml"), [], READER, seed)
    net = point["model.net"]
    kind = {"ViT": ViT, "HybridViT": HybridViT}[net["class_path"].rpartition(".")[2]]
    args = net.get("init_args", {}) | {"depth": point["model.net.depth"]}
    check_kind(kind(**args), "attention")


def test_every_point_of_attentive_pooling_and_augmentation_can_be_made():
    from fer_lightning.data.augment import Augmentation
    from fer_lightning.models import APViT

    for point in corners(read_sweep(ROOT / "sweeps/attentive_pooling.yaml")):
        APViT(**options(point, "model.net."))
    for point in corners(read_sweep(ROOT / "sweeps/augmentation.yaml")):
        Augmentation(**options(point, "data.augmentation."))


def options(point, prefix):
    return {k.removeprefix(prefix): v for k, v in point.items() if k.startswith(prefix)}


def test_the_papers_matrix_is_the_studys():
    sweep = read_sweep(ROOT / "sweeps/data_efficiency.yaml")
    assert grid_size(sweep) == 27
    study = read_study(ROOT / "configs/study/inductive_bias_gap.yaml")
    wanted = {cell.identity for cell in make_cells(study, resolve, lambda config: "f")}
    point = draw(sweep, [], READER, 0)
    assert identity(decisive(configuration(sweep, point), "f")) in wanted
