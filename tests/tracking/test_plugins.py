"""TensorBoard's own pages over our folders, asked without a browser."""

import json

import numpy as np
import pytest
from fake_run import write_run
from tensorboard import program
from werkzeug.test import Client

from fer_lightning.tracking.dashboard import Logdir, plugins
from fer_lightning.tracking.events import write_projector


@pytest.fixture
def served(tmp_path):
    """Two runs whose options differ, and a client that asks TensorBoard about them."""
    for seed, lr in ((1, 0.1), (2, 0.2)):
        write_run(tmp_path / f"runs/seed{seed}", seed=seed, lr=lr)
    with (tmp_path / "runs/seed2/config.yaml").open("a") as config:
        config.write("  weight_decay: 0.5\n")
    (tmp_path / "place").mkdir()
    Logdir(tmp_path / "runs", tmp_path / "place").refresh()
    page = program.TensorBoard(plugins=plugins())
    page.configure(argv=["tensorboard"], logdir=str(tmp_path / "place"), load_fast="false")
    apps = []
    page.server_class = lambda app, flags: apps.append(app)
    page._make_server()
    client = Client(apps[0])
    page._ingester.deprecated_multiplexer.AddRunsFromDirectory(str(tmp_path / "place"))
    page._ingester.deprecated_multiplexer.Reload()
    return client, tmp_path / "place"


def ask(client, path, **query):
    answer = client.get(f"/data/plugin/{path}", query_string=query)
    assert answer.status_code == 200, answer.get_data(as_text=True)
    return answer


def test_the_columns_to_compare_are_those_of_all_runs(served):
    client, _ = served
    answer = client.post("/data/plugin/hparams/experiment", json={}).get_json()
    differs = {info["name"]: info["differs"] for info in answer["hparamInfos"]}
    assert differs["seed_everything"]
    assert differs["model.lr"]
    assert not differs["model.net"]
    assert "model.weight_decay" in differs, "only the second run has it"
    names = [info["name"]["tag"] for info in answer["metricInfos"]]
    assert names == ["val/best_acc", "test/acc", "val/acc"]
    groups = client.post(
        "/data/plugin/hparams/session_groups",
        json={"startIndex": 0, "sliceSize": 10, "allowedStatuses": ["STATUS_SUCCESS"],
              "colParams": [{"metric": {"tag": "test/acc"}}]},
    ).get_json()  # fmt: skip
    assert {group["name"] for group in groups["sessionGroups"]} == {"seed1", "seed2"}
    for group in groups["sessionGroups"]:
        assert {value["name"]["tag"] for value in group["metricValues"]} >= {"test/acc"}


def test_the_projector_follows_a_training(served):
    client, place = served
    assert ask(client, "projector/runs").get_json() == []
    faces = np.zeros((3, 1, 48, 48), np.uint8)
    for value in (1.5, -2.5):
        features = np.full((3, 2), value, np.float32)
        write_projector(place / "seed1", "val/features", features, list("abc"), faces)
        assert ask(client, "projector/runs").get_json() == ["seed1"]
        config = json.loads(ask(client, "projector/info", run="seed1").get_data())
        (points,) = config["embeddings"]
        assert points["tensorShape"] == [3, 2]
        named = {"run": "seed1", "name": points["tensorName"]}
        tensor = ask(client, "projector/tensor", **named).get_data()
        np.testing.assert_array_equal(np.frombuffer(tensor, np.float32), [value] * 6)
        labels = ask(client, "projector/metadata", **named).get_data(as_text=True)
        assert labels.startswith("label\timage\na\t0\n")
        assert ask(client, "projector/sprite_image", **named).get_data()[:4] == b"\x89PNG"
