"""The workspace names only what runs log, and is saved through the unmodified client."""

import json
import shutil
import sys
import time
from pathlib import Path

import pytest
import torch
from wandb_server import server as server_module

from fer_lightning.cli import main
from fer_lightning.commands.dashboard import subject
from fer_lightning.data.labels import FER_CLASSES
from fer_lightning.data.regions import FACE, Regions
from fer_lightning.look.callbacks.focus import logged
from fer_lightning.look.embedding import embedding_quality
from fer_lightning.tracking.workspace import COMPARED, sections, workspace
from fer_lightning.training.module import logged_metrics
from fer_lightning.training.predictions import classification_metrics

OF_TRAINING = {"train/loss", "train/acc", "train/images_per_second", "train/epoch_seconds", "lr"}
KINDS = {"gradcam", "attention", "positions", "focus", "tsne", "confusion", "reliability"}


def logged_names():
    """Names of numbers in an epoch, from the functions that name them."""
    torch.manual_seed(0)
    found = classification_metrics(torch.rand(40, 7), torch.arange(40) % 7)
    maps = {name: torch.rand(4, len(FACE.rows)) for name in ("lfr", "lsi", "background")}
    maps["counted"] = maps["lfr"] >= 0
    quality = embedding_quality(torch.rand(40, 4), torch.arange(40) % 7, torch.rand(40, 2))
    return {
        *OF_TRAINING,
        *(name for stage in ("val", "test") for name in logged_metrics(stage, found, FER_CLASSES)),
        *("/".join(("val", *names)) for names in logged(maps, FACE, "grad_cam")),
        *(f"val/embedding/{name}" for name in quality),
    }


def panels():
    return {section.name: section.panels for section in sections()}


def of_kind(kind):
    found = [p for row in panels().values() for p in row]
    return [panel for panel in found if type(panel).__name__ == kind]


def test_every_curve_is_of_a_number_that_is_logged():
    names = logged_names()
    for panel in of_kind("LinePlot"):
        assert panel.x.name == "epoch" if hasattr(panel.x, "name") else panel.x == "epoch"
        for metric in panel.y:
            assert getattr(metric, "name", metric) in names, panel.title
    for panel in of_kind("BarPlot"):
        assert [getattr(metric, "name", metric) for metric in panel.metrics] == ["test/acc"]
    assert of_kind("ParameterImportancePlot")[0].with_respect_to in names


def test_every_picture_is_of_a_kind_that_is_saved():
    shown = {name for panel in of_kind("MediaBrowser") for name in panel.media_keys}
    assert shown == {f"{stage}/{kind}" for stage in ("val", "test") for kind in KINDS}


def test_the_questions_of_the_project_each_have_a_panel():
    (scatter,) = of_kind("ScatterPlot")
    assert (scatter.x.name, scatter.y.name) == ("data.fraction", "test/acc")
    assert "val/lfr_median/key" in json.dumps([str(p) for p in panels()["Where it looks: focus"]])
    (options,) = of_kind("ParallelCoordinatesPlot")
    assert [c.metric.name for c in options.columns] == [*COMPARED, "val/acc", "test/acc"]


def test_it_is_written_as_w_and_b_reads_it():
    spec = workspace("faces", "me")._to_model().spec.model_dump(by_alias=True, exclude_none=True)
    assert spec["section"]["settings"]["xAxis"] == "epoch"
    bank = spec["section"]["panelBankConfig"]["sections"]
    assert [s["name"] for s in bank][:2] == ["Accuracy", "Where it looks: focus"]
    scatter = bank[0]["panels"][0]
    assert scatter["viewType"] == "Scatter Plot"
    assert scatter["config"]["xAxis"] == "config:data.value.fraction"


def test_it_is_saved_with_the_real_client(wandb_server, monkeypatch, capsys):
    views = []

    def upsert(state, variables):
        views.append(variables)
        return {"upsertView": {"view": {"id": "v1", "name": variables["name"]}, "inserted": True}}

    monkeypatch.setitem(server_module.OPERATIONS, "UpsertView2", upsert)
    assert main(["dashboard", "--wandb", "faces"]) == 0
    out = capsys.readouterr().out
    (view,) = views
    assert (view["projectName"], view["type"]) == ("faces", "project-view")
    assert json.loads(view["spec"])["section"]["panelBankConfig"]["sections"]
    assert f"/{view['entityName']}/faces?nw=" in out
    assert main(["dashboard", "--wandb", "faces", "--entity", "team"]) == 0
    assert views[1]["entityName"] == "team"


def test_a_server_that_refuses_is_one_sentence(wandb_server, capsys):
    assert main(["dashboard", "--wandb", "faces", "--entity", "team"]) == 2
    err = capsys.readouterr().err
    assert "error: expected W&B to save a workspace in project faces but" in err
    wandb_server.unknown.clear()  # it knows no workspaces by itself


def test_without_a_network_it_is_one_sentence_at_once(wandb_server, capsys):
    wandb_server.stop()
    began = time.monotonic()
    assert main(["dashboard", "--wandb", "faces"]) == 2
    assert f"but no connection to {wandb_server.url}" in capsys.readouterr().err
    assert time.monotonic() - began < 20


@pytest.mark.slow  # W&B's client tries for half a minute
@pytest.mark.parametrize("fault", ["500", "silence"])
def test_a_server_that_is_ill_is_one_sentence(wandb_server, fault, capsys):
    wandb_server.fault = fault
    assert main(["dashboard", "--wandb", "faces"]) == 2
    assert "error: expected W&B to save a workspace in project faces" in capsys.readouterr().err


def test_without_a_key_it_is_one_sentence(wandb_home, capsys):
    assert main(["dashboard", "--wandb", "faces"]) == 2
    err = capsys.readouterr().err
    assert "expected a W&B key but none is configured; run wandb login" in err
    assert err.count("\n") == 1


def test_without_the_package_it_is_one_sentence(wandb_server, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "wandb_workspaces", None)
    assert main(["dashboard", "--wandb", "faces", "--entity", "team"]) == 2
    assert "expected the package wandb-workspaces but it is not inst" in capsys.readouterr().err


def test_an_entity_needs_a_project(capsys):
    assert main(["dashboard", "runs", "--entity", "team"]) == 2
    assert "expected --wandb PROJECT with --entity" in capsys.readouterr().err


def test_panels_speak_of_the_runs_own_regions_and_methods():
    regions = Regions("plate", ("defect", "print"), {}, "defect", "plate")
    found = {s.name: s.panels for s in sections(regions, ["occlusion"])}
    names = {
        getattr(metric, "name", metric)
        for panel in found["Where it looks: focus"]
        for metric in panel.y
    }
    assert {"val/lfr_median/defect", "val/lfr_median/print"} <= names
    assert "val/lfr_median/occlusion/defect" in names
    assert not any("key" in name.split("/") for name in names)
    titles = [panel.title for panel in found["Where it looks: focus"]]
    assert "DEFECT LFR, median: occlusion" in titles
    assert "Heat outside the plate" in titles


def test_regions_and_methods_come_from_the_runs_in_the_folder(tmp_path):
    before = Path(__file__).parents[1] / "fixtures" / "run_0_1" / "whole"
    assert subject(tmp_path) == (FACE, [])
    shutil.copytree(before, tmp_path / "a")
    table = (tmp_path / "a/focus.csv").read_text().splitlines()
    rows = [f"{'method' if i == 0 else 'occlusion'},{line}" for i, line in enumerate(table)]
    (tmp_path / "a/focus.csv").write_text("\n".join(rows) + "\n")
    assert subject(tmp_path) == (FACE, ["occlusion"])
