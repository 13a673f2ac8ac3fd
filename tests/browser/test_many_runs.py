"""A folder with 200 runs of 30 epochs opens and stays usable."""

import json
import time
import urllib.request

import pytest
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.summary.writer.record_writer import RecordWriter

from fer_lightning.dashboard.logdir import Logdir
from fer_lightning.dashboard.serve import serve
from fer_lightning.tracking.events import options_summaries, scalar_event

RUNS, EPOCHS, NUMBERS = 200, 30, 50  # a ViT logs 47 numbers an epoch
PATIENCE = 180  # seconds, on a busy machine
NAMES = ["val/acc", "test/acc", *(f"val/number_{i}" for i in range(NUMBERS - 2))]


def write_run(folder, seed):
    (folder / "tensorboard").mkdir(parents=True)
    with (folder / "tensorboard/events.out.tfevents.1.a").open("wb") as file:
        records = RecordWriter(file)
        records.write(Event(file_version="brain.Event:2").SerializeToString())
        for part in options_summaries({"seed_everything": seed, "model.lr": seed / 1000}):
            records.write(Event(summary=part).SerializeToString())
        for epoch in range(EPOCHS):
            for name in NAMES:
                event = scalar_event(name, epoch / EPOCHS, epoch, 1e9 + epoch)
                records.write(event.SerializeToString())


def ask(address, path, content=None):
    data = None if content is None else json.dumps(content).encode()
    asked = urllib.request.Request(f"{address}{path}", data, {"Content-Type": "application/json"})
    began = time.perf_counter()
    with urllib.request.urlopen(asked, timeout=120) as answer:
        found = json.load(answer)
    return found, time.perf_counter() - began


@pytest.mark.slow
def test_two_hundred_runs(tmp_path, chromium):
    for seed in range(RUNS):
        write_run(tmp_path / f"runs/vit-seed{seed:03d}", seed)
    (tmp_path / "place").mkdir()
    began = time.perf_counter()
    Logdir(tmp_path / "runs", tmp_path / "place").refresh()
    linked = time.perf_counter() - began
    address = serve(tmp_path / "place", 0)
    page = chromium.new_page(viewport={"width": 1200, "height": 800})
    page.set_default_timeout(1000 * PATIENCE)
    page.goto(f"{address}?tagFilter=val%2Facc#timeseries")
    page.wait_for_function("document.querySelector('scalar-card')?.innerText.includes('vit-seed')")
    first = time.perf_counter() - began

    tags = {}
    while len(tags) < RUNS or min(map(len, tags.values())) < NUMBERS:
        tags = ask(address, "data/plugin/timeseries/tags")[0]["scalars"]["runTagInfo"]
        assert time.perf_counter() - began < PATIENCE
        time.sleep(0.1)
    loaded = time.perf_counter() - began
    wanted = {"startIndex": 0, "sliceSize": RUNS, "allowedStatuses": ["STATUS_SUCCESS"]}
    columns = {"colParams": [{"metric": {"tag": "test/acc"}}]}
    groups, compared = ask(address, "data/plugin/hparams/session_groups", wanted | columns)
    assert len(groups["sessionGroups"]) == RUNS
    began = time.perf_counter()
    page.get_by_role("tab", name="HParams").or_(page.get_by_text("HPARAMS")).first.click()
    page.get_by_text("vit-seed199").first.wait_for(state="attached")
    switched = time.perf_counter() - began
    print(
        f"linked {linked:.2f} s, first curves {first:.2f} s, all loaded {loaded:.2f} s, "
        f"options of all runs {compared:.2f} s, HParams page {switched:.2f} s"
    )
    assert linked < 10
    assert max(first, loaded) < PATIENCE
    assert max(compared, switched) < 60
