"""TensorBoard over a training in progress, as a person sees it."""

import io
import json
import os
import re
import subprocess
import sys
import time

import pytest
from PIL import Image

LOOKS = [
    {"class_path": "fer_lightning.callbacks.ConfusionCallback"},
    {
        "class_path": "fer_lightning.callbacks.EmbeddingCallback",
        "init_args": {"every_n_epochs": 1, "perplexity": 5},
    },
]
FIT = [
    *("fit", "--model.net=vit", "--model.net.dim=16", "--model.net.depth=1"),
    *("--model.net.heads=2", "--data.source=drawn", "--data.drawn.size=280"),
    *("--trainer.max_epochs=10000", "--trainer.enable_progress_bar=false", "--report=false"),
    *("--early_stopping.patience=10000", f"--trainer.callbacks={json.dumps(LOOKS)}"),
]
PATIENCE = 240  # seconds, on a busy machine
VAL = 28  # validation images


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("live")


def start(folder, *words, **streams):
    return subprocess.Popen(
        [sys.executable, "-m", "fer_lightning.cli", *words],
        cwd=folder,
        env=os.environ | {"OMP_NUM_THREADS": "1", "WANDB_MODE": "disabled"},
        **streams,
    )


@pytest.fixture(scope="module")
def training(folder):
    """A training that goes on for as long as it is looked at; its first epoch is done."""
    with (folder / "log.txt").open("w") as log:
        process = start(folder, *FIT, stdout=log, stderr=log)
        try:
            until = time.monotonic() + PATIENCE
            while not (folder / "runs/vit-seed42/checkpoints/last.ckpt").is_file():
                assert process.poll() is None, (folder / "log.txt").read_text()
                assert time.monotonic() < until
                time.sleep(0.2)
            yield process
        finally:
            process.kill()
            process.wait()


@pytest.fixture(scope="module")
def address(training, folder):
    board = start(folder, "dashboard", "runs", "--port=0", stdout=subprocess.PIPE, text=True)
    try:
        for line in board.stdout:
            if found := re.search(r"http://127.0.0.1:\d+", line):
                break
        yield found[0]
    finally:
        board.terminate()
        board.wait()


@pytest.fixture(scope="module")
def board(chromium, address):
    """An open page, and what it asked for."""
    context = chromium.new_context(viewport={"width": 1200, "height": 800})
    context.set_default_timeout(1000 * PATIENCE)
    page = context.new_page()
    page.asked = []
    page.on("request", lambda request: page.asked.append(request.url))
    yield page
    context.close()


def reload_data(page):
    page.locator("button[title^='Last Updated']").click()


def test_curves_move(board, address, training):
    board.goto(f"{address}/?tagFilter=val%2Floss#timeseries")
    board.wait_for_function("document.querySelector('scalar-card')?.innerText.includes('vit-se')")

    def last_step():
        words = board.locator("scalar-card").first.inner_text().split("\n")
        cells = [word.strip() for word in words if word.strip()]
        return int(cells[cells.index("vit-seed42") + 3].replace(",", ""))

    first = last_step()
    until = time.monotonic() + PATIENCE
    while last_step() <= first and time.monotonic() < until:
        reload_data(board)
        board.wait_for_timeout(1000)
    assert training.poll() is None, "still at work"
    assert last_step() > first


def test_pictures_show(board, address):
    board.goto("about:blank")
    board.goto(f"{address}/?tagFilter=val%2Fconfusion#timeseries")
    picture = board.locator("image-card img").first
    picture.wait_for()
    board.wait_for_function("document.querySelector('image-card img')?.naturalWidth > 300")


def test_the_projector_loads_features_labels_and_faces(board, address):
    board.goto("about:blank")
    with (
        board.expect_response(re.compile("projector/sprite_image")) as sprite,
        board.expect_response(re.compile("projector/metadata")) as labels,
    ):
        board.goto(f"{address}/#projector")
    faces = Image.open(io.BytesIO(sprite.value.body()))
    assert faces.size == (6 * 48, 6 * 48), f"{VAL} faces in a square"
    words = labels.value.text().split()
    assert words[:2] == ["label", "image"]
    assert len(words) == 2 + 2 * VAL
    (page,) = (frame for frame in board.frames if "projector_binary" in frame.url)
    page.locator(".numDataPoints", has_text=str(VAL)).wait_for()


def test_nothing_is_asked_of_the_network(board, address):
    own = (address, "data:", "blob:", "about:")
    assert board.asked
    assert [url for url in board.asked if not url.startswith(own)] == []
