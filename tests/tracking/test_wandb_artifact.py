"""Weights from W&B that may be missing, elsewhere, too large or hostile."""

import os
import pickle
from pathlib import Path
from types import SimpleNamespace

import pytest
import wandb

from fer_lightning.errors import UserError
from fer_lightning.models.weights import read_weights
from fer_lightning.tracking.wandb_api import MOST_BYTES, choose_file, fetch_weights


def entries(*paths, size=10, ref=None):
    return {path: SimpleNamespace(path=path, size=size, ref=ref) for path in paths}


def upload(name, content, path="model.ckpt"):
    """Log a file as an artifact of a run of its own."""
    Path("file").write_bytes(content)
    with wandb.init(project="p", settings=wandb.Settings(silent=True)) as run:
        artifact = wandb.Artifact(name, "model")
        artifact.add_file("file", path)
        run.log_artifact(artifact, aliases=["best"])


def test_the_file_of_weights_is_chosen():
    found = entries("readme.md", "deep/model.ckpt")
    assert choose_file(found, "e/p/n:best").path == "deep/model.ckpt"


@pytest.mark.parametrize(
    ("found", "message"),
    [
        (entries("a.ckpt", "b.ckpt"), r"expected one file of weights .* it holds a.ckpt, b.ckpt"),
        (entries("table.json"), "it holds table.json"),
        ({}, "it holds nothing"),
        (entries("../../model.ckpt"), "one elsewhere"),
        (entries("/etc/model.ckpt"), "one elsewhere"),
        (entries("..\\model.ckpt"), "one elsewhere"),
        (entries("m.ckpt", ref="file:///etc/m.ckpt"), r"one elsewhere \(file:///etc/m.ckpt\)"),
        (entries("m.ckpt", size=MOST_BYTES + 1), "at most 4 GB"),
        (entries("m.ckpt", size=None), "at most 4 GB"),
    ],
)
def test_anything_else_is_refused(found, message):
    with pytest.raises(UserError, match=message):
        choose_file(found, "e/p/n:best")


@pytest.mark.parametrize("name", ["model", "p/model:best", "e/p/m:best:x", "e/p/", "e/p/a b:best"])
def test_a_name_that_is_none(name, tmp_path):
    with pytest.raises(UserError, match="expected an artifact as ENTITY/PROJECT/NAME:ALIAS"):
        fetch_weights(name, tmp_path)


def test_without_a_key(wandb_home):
    with pytest.raises(UserError, match="expected a W&B key to fetch e/p/m:best with but got none"):
        fetch_weights("e/p/m:best", wandb_home)


def test_without_a_network(wandb_server, tmp_path):
    wandb_server.stop()
    with pytest.raises(UserError, match=r"cannot .*no connection"):
        fetch_weights("e/p/m:best", tmp_path)


def test_what_is_there_is_fetched_with_its_version(wandb_server, tmp_path):
    upload("m", b"some weights")
    found = fetch_weights("tester/p/m:best", tmp_path / "fetched")
    assert found.path.read_bytes() == b"some weights"
    assert (found.name, found.path.parent) == ("tester/p/m:v0", tmp_path / "fetched")
    with pytest.raises(UserError, match=r"expected to fetch tester/p/m:v7 .* check its name"):
        fetch_weights("tester/p/m:v7", tmp_path)


class Hostile:
    def __reduce__(self):
        return os.system, ("touch harmed",)


def test_code_in_it_is_not_executed(wandb_server, tmp_path):
    upload("m", pickle.dumps({"state_dict": Hostile()}))
    found = fetch_weights("tester/p/m", tmp_path)
    with pytest.raises(UserError, match="holds other objects, which could execute code"):
        read_weights(found.path)
    assert not Path("harmed").exists()
