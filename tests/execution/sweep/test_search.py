"""W&B's search as we call it: what it is told, what it draws, whom it stops."""

import json
from pathlib import Path

import pytest

from fer_lightning.execution.study.cells import CellFolder
from fer_lightning.execution.sweep.file import Sweep
from fer_lightning.execution.sweep.search import SEARCH_STATE, draw, grid_size, to_stop
from fer_lightning.execution.sweep.trial import Reader, Trial

LR = {"lr": {"min": 0.0, "max": 1.0}}
METRIC = {"name": "val/acc", "goal": "maximize"}


def sweep_of(method, parameters=LR, **more):
    content = {"method": method, "metric": METRIC, "parameters": parameters}
    return Sweep(Path("s.yaml"), "s", content | more)


@pytest.fixture
def trial(tmp_path):
    def make(number, lr, history, done=True):
        folder = tmp_path / f"s-{number:03d}"
        folder.mkdir()
        (folder / "run.json").write_text("{}")
        rows = [f"{epoch},{value},2.5" for epoch, value in enumerate(history)]
        header = "epoch,val/acc,train/epoch_seconds"
        (folder / "metrics.csv").write_text("\n".join([header, *rows]) + "\n")
        if done:
            summary = {"seconds": 9.0, "val": {"acc": max(history)}, "test": {"acc": 0.25}}
            (folder / "summary.json").write_text(json.dumps(summary))
        return Trial(number, {"lr": lr}, CellFolder(folder))

    return make


@pytest.fixture
def reader():
    return Reader("val/acc", "maximize")


def test_values_are_plain_and_the_seed_decides(reader):
    sweep = sweep_of("random", LR | {"n": {"min": 1, "max": 9}, "on": {"values": [True, False]}})
    point = draw(sweep, [], reader, 0)
    assert {type(value) for value in point.values()} == {float, int, bool}
    assert json.loads(json.dumps(point)) == point
    assert draw(sweep, [], reader, 0) == point
    assert draw(sweep, [], reader, 1) != point


def test_a_grid_is_walked_once(reader, trial):
    sweep = sweep_of("grid", {"lr": {"values": [0.1, 0.2]}})
    assert grid_size(sweep) == 2
    first = trial(1, 0.1, [0.5])
    assert draw(sweep, [first], reader, 0) == {"lr": 0.2}
    assert draw(sweep, [first, trial(2, 0.2, [0.5])], reader, 0) is None


def test_a_small_space_is_not_drawn_from_twice(reader, trial):
    sweep = sweep_of("random", {"lr": {"values": [0.1, 0.2]}})
    assert draw(sweep, [trial(1, 0.1, [0.5])], reader, 0) == {"lr": 0.2}
    assert draw(sweep, [trial(2, 0.1, [0.5]), trial(3, 0.2, [0.5])], reader, 0) is None


def test_bayes_goes_where_the_metric_is_high(reader, trial):
    known = [trial(k, k / 10, [0.9 - abs(k / 10 - 0.7)]) for k in range(1, 10)]
    drawn = [draw(sweep_of("bayes"), known, reader, seed)["lr"] for seed in range(8)]
    assert sum(0.5 < lr < 0.9 for lr in drawn) >= 6
    none = [draw(sweep_of("bayes"), [], reader, seed)["lr"] for seed in range(8)]
    assert sum(0.5 < lr < 0.9 for lr in none) < 6, "nothing is known yet"


def test_hyperband_is_told_of_every_epoch(reader, trial):
    sweep = sweep_of("random", early_terminate={"type": "hyperband", "min_iter": 2, "eta": 2})
    good = [trial(k, 0.5, [0.5, 0.6, 0.7, 0.8]) for k in (1, 2)]
    bad = trial(3, 0.1, [0.1, 0.1], done=False)
    bad.began = 0.0
    assert to_stop(sweep, [*good, bad], reader) == [], "the band is not reached"
    worse = trial(4, 0.1, [0.1, 0.1, 0.1], done=False)
    worse.began = 0.0
    assert to_stop(sweep, [*good, worse], reader) == [worse]
    assert to_stop(sweep_of("random"), [*good, worse], reader) == []


def test_what_is_read_of_a_run(trial):
    done = trial(1, 0.1, [0.2, 0.4, 0.3])
    found = Reader("val/acc", "maximize").measure(done)
    assert (found.history, found.best, found.epochs, found.seconds) == (
        (0.2, 0.4, 0.3),
        0.4,
        3,
        9.0,
    )
    assert Reader("test/acc", "maximize").measure(done).best == 0.25
    assert Reader("val/acc", "minimize").measure(done).best == 0.2
    half = Reader("val/acc", "maximize").measure(trial(2, 0.1, [0.2, 0.3], done=False))
    assert (half.epochs, half.seconds) == (2, 5.0)


def test_damaged_files_cost_no_more_than_themselves(trial, reader):
    damaged = trial(1, 0.1, [0.2, 0.4])
    with (damaged.folder.path / "metrics.csv").open("a") as file:
        file.write("2,\x00abc\nnonsense\n")
    (damaged.folder.path / "summary.json").write_text("[")
    assert reader.measure(damaged).history == (0.2, 0.4)
    empty = trial(2, 0.1, [], done=False)
    (empty.folder.path / "metrics.csv").unlink()
    assert Reader("val/loss", "minimize").measure(empty).best is None


def test_every_state_is_known_to_the_search():
    assert set(SEARCH_STATE) == {"done", "stopped", "failed", "running", "half-done", "waiting"}
