"""A folder with 200 runs of 30 epochs opens and stays usable."""

import json
import time
import urllib.request

import pytest
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.summary.writer.record_writer import RecordWriter

from fer_lightning.tracking.dashboard import Logdir, serve
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


def opened(page, address):
    """Seconds until the page shows a curve."""
    began = time.perf_counter()
    page.goto(f"{address}?tagFilter=val%2Facc#timeseries")
    page.wait_for_function("document.querySelector('scalar-card')?.innerText.includes('vit-seed')")
    return time.perf_counter() - began


def served(tmp_path, runs):
    """The address of a folder with some runs, and the seconds until all are read."""
    for seed in range(runs):
        write_run(tmp_path / f"runs{runs}/vit-seed{seed:03d}", seed)
    place = tmp_path / f"place{runs}"
    place.mkdir()
    began = time.perf_counter()
    Logdir(tmp_path / f"runs{runs}", place).refresh()
    address = serve(place, 0)
    tags = {}
    while len(tags) < runs or min(map(len, tags.values())) < NUMBERS:
        tags = ask(address, "data/plugin/timeseries/tags")[0]["scalars"]["runTagInfo"]
        assert time.perf_counter() - began < PATIENCE
        time.sleep(0.05)
    return address, time.perf_counter() - began


@pytest.mark.slow
def test_two_hundred_runs(tmp_path, chromium):
    page = chromium.new_page(viewport={"width": 1200, "height": 800})
    page.set_default_timeout(1000 * PATIENCE)
    one = opened(page, served(tmp_path, 1)[0])
    address, loaded = served(tmp_path, RUNS)
    first = opened(page, address)
    wanted = {"startIndex": 0, "sliceSize": RUNS, "allowedStatuses": ["STATUS_SUCCESS"]}
    columns = {"colParams": [{"metric": {"tag": "test/acc"}}]}
    groups, compared = ask(address, "data/plugin/hparams/session_groups", wanted | columns)
    assert len(groups["sessionGroups"]) == RUNS
    began = time.perf_counter()
    page.get_by_text("HPARAMS").first.click()
    page.get_by_text("vit-seed199").first.wait_for(state="attached")
    switched = time.perf_counter() - began
    print(
        f"all runs read {loaded:.1f} s, first curve {first:.1f} s (of a single run {one:.1f} s), "
        f"options of all runs {compared:.1f} s, HParams page {switched:.1f} s"
    )
    assert max(loaded, first) < PATIENCE
    assert max(compared, switched) < PATIENCE / 2
    assert first < 5 * one + 10
