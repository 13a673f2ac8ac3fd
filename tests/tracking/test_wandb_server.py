"""The unmodified W&B client against the loopback server that other tests rely on."""

import json
import subprocess
import sys
from pathlib import Path

import wandb


def wandb_command(*argv):
    """Run the `wandb` command; return what it printed."""
    done = subprocess.run(
        [sys.executable, "-m", "wandb", *argv], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_a_run_is_kept_and_can_be_read(wandb_server, tmp_path):
    with wandb.init(project="p", id="abc", tags=["t"], group="g", config={"lr": 0.1}) as run:
        for epoch in range(3):
            run.log({"epoch": epoch, "val/acc": epoch / 10})
        run.log({"table": wandb.Table(["a"], [[1]])})
        run.alert("collapse", "one class only")
        (tmp_path / "model.ckpt").write_bytes(b"weights")
        artifact = wandb.Artifact("model-abc", "model")
        artifact.add_file(str(tmp_path / "model.ckpt"))
        run.log_artifact(artifact, aliases=["best"])
    kept = wandb_server.state.run("abc")
    assert (kept.state, kept.config["lr"], kept.logged("val/acc")) == (
        "finished",
        0.1,
        [0, 0.1, 0.2],
    )
    assert kept.alerts == [{"title": "collapse", "text": "one class only", "severity": "INFO"}]
    (model,) = wandb_server.state.models()
    assert (model.state, set(model.aliases)) == ("COMMITTED", {"best", "latest"})
    assert wandb_server.state.stored[model.files["model.ckpt"]] == b"weights"
    read = wandb.Api().run("tester/p/abc")
    assert (read.state, read.summary["val/acc"]) == ("finished", 0.2)
    assert (read.tags, read.group) == (["t"], "g")
    assert [row["val/acc"] for row in read.history(pandas=False) if "val/acc" in row] == [
        0,
        0.1,
        0.2,
    ]
    (one,) = wandb.Api().runs("tester/p")
    assert one.id == "abc"
    found = wandb.Api().artifact("tester/p/model-abc:best")
    fetched = found.get_entry("model.ckpt").download(tmp_path / "fetched")
    assert Path(fetched).read_bytes() == b"weights"


def test_an_offline_run_is_synced(wandb_server, tmp_path):
    with wandb.init(project="p", id="later", mode="offline", dir=tmp_path) as run:
        run.log({"val/acc": 0.5})
    assert not wandb_server.state.runs
    (folder,) = tmp_path.glob("wandb/offline-run-*")
    wandb_command("sync", str(folder))
    assert wandb_server.state.run("later").summary["val/acc"] == 0.5
    assert json.loads(wandb_server.state.file(wandb_server.state.run(), "wandb-metadata.json"))
