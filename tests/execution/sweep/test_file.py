"""Mistakes in sweep files, told before anything is trained."""

import pytest

from fer_lightning.errors import UserError
from fer_lightning.execution.sweep.file import read_sweep
from fer_lightning.execution.sweep.search import check_search

GOOD = """
method: random
metric: {name: val/acc, goal: maximize}
command: ["${interpreter}", -m, fer_lightning.cli, fit, --config, configs/vit.yaml, "${args}"]
parameters:
  model.lr: {distribution: log_uniform_values, min: 0.00001, max: 0.01}
  model.net.depth: {values: [2, 4]}
  model.compile: {values: [true, false]}
  data.fraction: {value: 0.3}
"""


def read(tmp_path, text):
    path = tmp_path / "sweep.yaml"
    path.write_text(text)
    sweep = read_sweep(path)
    check_search(sweep)
    return sweep


def test_a_good_file(tmp_path):
    sweep = read(tmp_path, GOOD)
    assert (sweep.name, sweep.method, sweep.metric) == ("sweep", "random", "val/acc")
    assert read(tmp_path, GOOD + "run_cap: 3").content["run_cap"] == 3
    assert sweep.varied == ["model.lr", "model.net.depth", "model.compile"]


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (("method: random", "method: [random"), "expected YAML in .*line 3"),
        (("method: random", "method: rnadom"), "got 'rnadom'; did you mean 'random'"),
        (("method: random", ""), "expected a method of search"),
        (("method: random", "method: grid"), "grid search"),
        (("goal: maximize", "goal: max"), "expected the metric's goal .*one of maximize"),
        (("{name: val/acc, goal: maximize}", "val/acc"), "expected the metric's name"),
        (("values: [2, 4]", "values: [2, null]"), 'null, .*write the string "null"'),
        (("{value: 0.3}", "{value: null}"), "'data.fraction' has null"),
        (("values: [2, 4]", "values: 3"), "expected a sweep file that W&B takes .*depth"),
        (("{values: [2, 4]}", "4"), "parameters such as .* got 4 as parameters.model.net.depth"),
        (("{values: [2, 4]}", "{parameters: {a: {value: 1}}}"), "write 'model.net.depth.option'"),
        (("min: 0.00001, max: 0.01", "min: 1.0, max: 0.01"), "expected a sweep file .* min"),
        (("model.net.depth:", "model.lr:"), "'model.lr' stands there twice"),
        (('"${args}"', "'--x'"), r"expected a command .* ends with \$\{args\}"),
        (("command:", "program: train.py\nold:"), "expected a command"),
        (("--config, configs/vit.yaml, \"${args}\"", "\"${args}\", --config, a"), "overrule"),
        (("method: random", "method: random\nrun_cap: none"), "expected a run_cap"),
        (("method: random", "method: random\nname: ../x"), "expected a name for a folder"),
        (("method: random", "method: random\nname: .."), "expected a name for a folder"),
        (("method: random", "method: random\nrun_caps: 3"), "W&B takes .*'run_caps' was une"),
        (("goal: maximize", "goal: maximize, gaol: x"), "W&B takes .*'gaol' was unexpected"),
        (
            ("method: random", "method: random\nearly_terminate: {type: hyperband, eta: 2}"),
            "expected a sweep file that W&B takes",
        ),
    ],
)  # fmt: skip
def test_mistakes(tmp_path, change, why):
    assert change[0] in GOOD
    with pytest.raises(UserError, match=why):
        read(tmp_path, GOOD.replace(*change))


def test_bayes_needs_a_metric(tmp_path):
    text = GOOD.replace("random", "bayes")
    assert read(tmp_path, text).method == "bayes"
    with pytest.raises(UserError, match="expected a metric with method bayes"):
        read(tmp_path, text.replace("metric: {name: val/acc, goal: maximize}", ""))
    text = GOOD + "early_terminate: {type: hyperband, min_iter: 3}\n"
    with pytest.raises(UserError, match="expected a metric with early_terminate"):
        read(tmp_path, text.replace("metric: {name: val/acc, goal: maximize}", ""))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("- a\n- b\n", "expected a mapping in .*start from sweeps/learning_rate.yaml"),
        ("", "expected a mapping"),
        ("method: grid\n", "expected parameters .* but got none"),
        ("method: grid\nparameters: {}\n", "expected parameters"),
        ("method: grid\nparameters: [a]\n", "expected parameters"),
    ],
)
def test_no_sweep_at_all(tmp_path, text, why):
    with pytest.raises(UserError, match=why):
        read(tmp_path, text)


def test_no_file(tmp_path):
    with pytest.raises(UserError, match="expected a file at"):
        read_sweep(tmp_path / "none.yaml")
