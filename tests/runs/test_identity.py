import copy
import sys
from types import ModuleType

import pytest

from fer_lightning.runs.identity import decisive, identity

CONFIG = {
    "seed_everything": 42,
    "trainer": {
        "max_epochs": 30,
        "devices": "auto",
        "accelerator": "auto",
        "callbacks": [{"class_path": "fer_lightning.callbacks.FocusCallback"}],
    },
    "model": {
        "net": {"class_path": "fer_lightning.models.CNN", "init_args": {"dropout": 0.5}},
        "lr": 1e-4,
    },
    "data": {"data_dir": "/a/fer.zip", "fraction": 0.3, "files": {"on_corrupt": "error"}},
    "early_stopping": {"patience": 5},
    "wandb": {"mode": "auto"},
    "run_name": None,
}


def of(config, fingerprint="f"):
    return identity(decisive(config, fingerprint))


def changed(*path, value):
    config = copy.deepcopy(CONFIG)
    place = config
    for name in path[:-1]:
        place = place.setdefault(name, {})
    place[path[-1]] = value
    return config


SWA = {"class_path": "lightning.pytorch.callbacks.StochasticWeightAveraging"}


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("run_name",), "another"),
        (("wandb", "mode"), "disabled"),
        (("trainer", "callbacks"), []),
        (("trainer", "devices"), 1),
        (("trainer", "enable_progress_bar"), False),
        (("data", "data_dir"), "/b/fer.zip"),
        (("data", "num_workers"), 4),
        (("data", "manifest"), None),
        (("model", "compile"), True),
        (("model", "net", "class_path"), "fer_lightning.models.cnn.CNN"),
        (("early_stopping", "patience"), 5.0),
        (("data", "scale"), "unit"),  # what runs of before had, without saying so
        (("model", "net", "init_args", "init"), "trunc_normal"),
    ],
)
def test_what_decides_nothing(path, value):
    assert of(changed(*path, value=value)) == of(CONFIG)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("seed_everything",), 43),
        (("trainer", "max_epochs"), 31),
        (("trainer", "gradient_clip_val"), 1.0),
        (("trainer", "callbacks"), [SWA]),
        (("data", "fraction"), 0.6),
        (("data", "files", "soft_labels"), True),
        (("model", "lr"), 2e-4),
        (("model", "net", "init_args", "dropout"), 0.4),
        (("model", "net", "class_path"), "fer_lightning.models.ViT"),
        (("early_stopping", "patience"), 6),
        (("data", "scale"), "standard"),
        (("model", "net", "init_args", "init"), "xavier"),
    ],
)
def test_what_decides(path, value):
    assert of(changed(*path, value=value)) != of(CONFIG)


def test_another_data_set():
    assert of(CONFIG, "g") != of(CONFIG)


def test_another_version_of_the_training_code(monkeypatch):
    before = of(CONFIG)
    monkeypatch.setattr("fer_lightning.runs.identity.RESULT_VERSION", 2)
    assert of(CONFIG) != before


def test_weights_and_splits_count_by_content(tmp_path):
    one, copied, other = (tmp_path / name for name in ("a.safetensors", "b", "c"))
    one.write_text("x")
    copied.write_text("x")
    other.write_text("y")
    same, different = (
        of(changed("model", "net", "init_args", "weights", value=str(path)))
        for path in (copied, other)
    )
    assert same == of(changed("model", "net", "init_args", "weights", value=str(one)))
    assert different != same


@pytest.mark.parametrize("name", ["KeptTokensCallback", "WeightingCallback", "AttentionCallback"])
def test_callbacks_that_only_look_change_nothing(name):
    config = {"trainer": {"callbacks": []}}
    looking = {"trainer": {"callbacks": [{"class_path": f"fer_lightning.callbacks.{name}"}]}}
    assert identity(decisive(config, "f")) == identity(decisive(looking, "f"))


def test_a_callback_from_outside_says_that_it_only_looks(monkeypatch):
    outside = ModuleType("somewhere")
    outside.Harmless = type("Harmless", (), {"only_looks": True})
    outside.Other = type("Other", (), {})
    monkeypatch.setitem(sys.modules, "somewhere", outside)
    plain = identity(decisive({"trainer": {"callbacks": []}}, "f"))
    for name, same in (("Harmless", True), ("Other", False), ("Missing", False)):
        config = {"trainer": {"callbacks": [{"class_path": f"somewhere.{name}"}]}}
        assert (identity(decisive(config, "f")) == plain) == same


def test_nothing_foreign_is_imported_to_ask(tmp_path, monkeypatch):
    (tmp_path / "hostile_module.py").write_text("raise SystemExit('ran')")
    monkeypatch.syspath_prepend(tmp_path)
    config = {"trainer": {"callbacks": [{"class_path": "hostile_module.Callback"}]}}
    assert decisive(config, "f")["trainer"]["callbacks"]


def test_masks_and_landmarks_decide_only_with_a_regulariser():
    data = {"masks": "m", "regions": "r", "landmarks": "l", "split": "ratio"}
    plain = decisive({"data": data, "model": {"lr": 1}}, "f")["data"]
    assert plain == {"split": "ratio"}
    drawn_to = decisive({"data": data, "model": {"regulariser": {"weight": 1}}}, "f")["data"]
    assert set(drawn_to) == set(data)


def test_a_loss_on_regions_tells_which_landmarks_it_used(tmp_path):
    def landmarks(**data):
        return decisive({"data": data, "model": {"regulariser": {"weight": 1}}}, "f")["data"]

    before = {}  # of results from before landmarks were shipped: the template
    assert landmarks(landmarks="none") == landmarks(landmarks="template") == before
    assert landmarks() == landmarks(source="auto") == {"landmarks": "shipped 1"}
    assert landmarks(source="drawn") == before  # exact masks
    (tmp_path / "a.npz").write_bytes(b"a")
    (tmp_path / "b.npz").write_bytes(b"a")
    a, b = (landmarks(landmarks=str(tmp_path / f"{name}.npz")) for name in "ab")
    assert a == b
    assert a["landmarks"].startswith("sha256:")
