from dataclasses import replace

import pytest

from fer_lightning.errors import UserError
from fer_lightning.execution.study.cells import make_cells
from fer_lightning.execution.study.plan import ModelPlan, Study


def resolve(options):
    """A stand-in for the parser: what a model is called, and its options."""
    pairs = dict(option.removeprefix("--").split("=", 1) for option in options)
    return {"trainer": {"max_epochs": 3}, "model": pairs, "data": {"fraction": 1.0}}


def study(tmp_path, *models, fractions=(1.0, 0.3), seeds=(42, 43)):
    plans = tuple(ModelPlan(name, (), overrides) for name, overrides in models)
    return Study(tmp_path / "s.yaml", "s", plans, fractions, seeds)


def test_every_combination_small_fractions_first(tmp_path):
    cells = make_cells(study(tmp_path, ("cnn", {}), ("vit", {})), resolve, lambda _: "f")
    assert [cell.name for cell in cells[:4]] == [
        "cnn-30pct-seed42",
        "vit-30pct-seed42",
        "cnn-100pct-seed42",
        "vit-100pct-seed42",
    ]
    assert len(cells) == 8
    assert len({cell.identity for cell in cells}) == 8
    assert cells[1].config["data"]["fraction"] == 0.3
    assert cells[1].config["seed_everything"] == 42
    assert cells[1].config["wandb"]["group"] == "s"
    assert cells[1].config["wandb"]["tags"] == ["s", cells[1].model]
    assert cells[1].folder_name == f"vit-30pct-seed42-{cells[1].identity[:8]}"


def test_one_device_because_more_make_larger_batches(tmp_path):
    cell = make_cells(study(tmp_path, ("cnn", {})), resolve, lambda _: "f")[0]
    assert cell.config["trainer"]["devices"] == 1


def test_an_edit_changes_only_what_it_touches(tmp_path):
    def identities(depth, seeds=(42,)):
        models = (("cnn", {}), ("vit", {"depth": depth}))
        cells = make_cells(study(tmp_path, *models, seeds=seeds), resolve, lambda _: "f")
        return {cell.name: cell.identity for cell in cells}

    before, after = identities(2), identities(3, seeds=(42, 43))
    kept = {name for name in before if before[name] == after[name]}
    assert kept == {"cnn-30pct-seed42", "cnn-100pct-seed42"}


def test_two_cells_with_the_same_identity_are_both_named(tmp_path):
    def same(options):
        return resolve(["--net=cnn"])

    with pytest.raises(UserError, match="cnn-30pct-seed42 and twin-30pct-seed42 are the same"):
        make_cells(study(tmp_path, ("cnn", {}), ("twin", {})), same, lambda _: "f")


def test_models_on_different_data_are_refused_with_both_fingerprints(tmp_path):
    plan = study(tmp_path, ("cnn", {}), ("vit", {}))
    with pytest.raises(UserError, match="cnn has f1 and vit f2"):
        make_cells(plan, resolve, lambda c: "f1" if "cnn" in c["model"].values() else "f2")


def test_where_the_data_lies(tmp_path):
    seen = []

    def spy(options):
        seen.append(options[-1])
        return resolve(options)

    make_cells(study(tmp_path, ("cnn", {})), spy, lambda _: "f", data_dir="here.zip")
    assert seen == ["--data.data_dir=here.zip"]


def test_equal_steps_give_smaller_fractions_more_epochs(tmp_path):
    plan = study(tmp_path, ("cnn", {}), fractions=(0.3, 0.6, 1.0), seeds=(42,))

    def thirty(options):
        return resolve(options) | {
            "trainer": {"max_epochs": 30},
            "model": {"net": "cnn", "warmup_epochs": 5},
        }

    before = make_cells(plan, thirty, lambda _: "f")
    small, middle, whole = make_cells(replace(plan, equal_steps=True), thirty, lambda _: "f")
    assert whole.identity == before[-1].identity  # the paper's own run counts for it
    for cell, epochs, between, warmup in ((small, 99, 3, 16.5), (middle, 50, 2, 25 / 3)):
        assert cell.config["trainer"]["max_epochs"] == epochs
        assert cell.config["trainer"]["check_val_every_n_epoch"] == between
        assert cell.config["model"]["warmup_epochs"] == pytest.approx(warmup)
        assert epochs * cell.fraction == pytest.approx(30, rel=0.02)  # as many steps
    with pytest.raises(UserError, match="for equal_steps but got -1"):
        make_cells(
            replace(plan, equal_steps=True),
            lambda options: thirty(options) | {"trainer": {"max_epochs": -1}},
            lambda _: "f",
        )
