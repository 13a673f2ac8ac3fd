"""The page of the command demo, as a person uses it."""

import os
import re
import subprocess
import sys
import time

import cv2
import pytest
import torch

from fer_lightning.data.faces import drawn_faces

pytestmark = pytest.mark.slow  # gradio alone takes 5 to 30 seconds to start
PATIENCE = 240  # seconds, on a busy machine
HAPPY = 3


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("demo")


@pytest.fixture(scope="module")
def checkpoint(folder):
    """A small CNN that has learned clear drawn faces by heart, in seconds."""
    from explain_samples import save_net

    from fer_lightning.models import CNN

    torch.manual_seed(0)
    faces = drawn_faces(350, difficulty=0.0, with_masks=False)
    images, labels = torch.from_numpy(faces.images) / 255, torch.from_numpy(faces.labels)
    net = CNN(widths=(8, 8, 16, 16), dropout=0.0)
    optimizer = torch.optim.Adam(net.parameters(), 2e-3)
    for _ in range(12):
        for rows in torch.randperm(len(images)).split(50):
            loss = torch.nn.functional.cross_entropy(net(images[rows]), labels[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    with torch.no_grad():
        assert (net.eval()(images).argmax(1) == labels).float().mean() > 0.9
    save_net(net, folder / "cnn.ckpt")
    return folder / "cnn.ckpt"


@pytest.fixture(scope="module")
def face(folder):
    """A drawn happy face that the model has not seen; without its mouth it is another."""
    faces = drawn_faces(35, seed=5, image_size=64, difficulty=0.0, with_masks=False)
    assert faces.labels[30] == HAPPY
    cv2.imwrite(str(folder / "happy.png"), faces.images[30, 0])
    return folder / "happy.png"


@pytest.fixture(scope="module")
def address(checkpoint, folder):
    pytest.importorskip("gradio", reason="gradio is missing: pip install -e '.[demo]'")
    from fer_lightning.commands.demo import free_port

    words = ["demo", "--checkpoint", str(checkpoint), f"--port={free_port('127.0.0.1', None)}"]
    (folder / "empty").mkdir()
    (folder / "tmp").mkdir()
    process = subprocess.Popen(
        [sys.executable, "-m", "fer_lightning.cli", *words],
        cwd=folder / "empty",
        env=os.environ | {"OMP_NUM_THREADS": "1", "TMPDIR": str(folder / "tmp")},
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        found = None
        for line in process.stdout:
            if found := re.search(r"http://127.0.0.1:\d+", line):
                break
        assert found, "the page did not start"
        yield found[0]
    finally:
        process.terminate()
        assert process.wait(30) == 0
    # nothing that was uploaded remains, and nothing was written where it was started
    deadline = time.monotonic() + PATIENCE  # it is removed after the process's end
    while (left := list((folder / "tmp").glob("fer-lightning-demo-*"))) and (
        time.monotonic() < deadline
    ):
        time.sleep(0.1)
    assert not left
    assert not list((folder / "empty").iterdir())


@pytest.fixture(scope="module")
def page(chromium, address):
    """The open page, and what it asked for."""
    context = chromium.new_context(viewport={"width": 1280, "height": 900}, permissions=[])
    context.set_default_timeout(1000 * PATIENCE)
    page = context.new_page()
    page.asked = []
    page.on("request", lambda request: page.asked.append(request.url))
    page.goto(address)
    page.locator("#picture").wait_for()
    yield page
    context.close()


def numbers(page, kind):
    return [float(word) for word in page.locator(f"#hidden_answers .{kind}").all_inner_texts()]


def test_a_drawn_face_is_uploaded_and_answered(page, face):
    assert "Choose a picture" in page.locator("#status").inner_text()
    page.locator("#picture input[type=file]").first.set_input_files(face)
    page.locator("#answers section").wait_for()
    assert "taken as it is" in page.locator("#status").inner_text()
    assert page.locator("#answers .top td").first.inner_text() == "happy"
    page.locator("#focus table").wait_for()
    words = page.locator("#focus tr").first.inner_text()
    assert "grad_cam" in words
    assert "gradient" in words
    assert "uniform" in words
    assert "centre Gaussian" in words
    assert page.locator("#maps img").count() >= 2


def test_hiding_the_mouth_changes_more_than_as_much_background(page):
    page.get_by_role("button", name="Hide mouth", exact=True).click()
    page.locator("#hidden_answers .moved").wait_for()
    (moved,), (patch,) = numbers(page, "moved"), numbers(page, "patch")
    assert moved > patch
    assert moved > 0.1
    page.get_by_role("button", name="Hide as much background as the mouth").click()
    page.wait_for_function(
        "old => document.querySelector('#hidden_answers .moved')?.innerText != old",
        arg=f"{moved:.2f}",
    )
    assert numbers(page, "moved") == numbers(page, "patch") == [patch]


def test_a_refused_webcam_leaves_the_page_usable(page, face):
    # gradio calls it "Clear" or, from 6.30 on, "Remove Image"
    page.locator("#picture").get_by_role("button", name=re.compile("Clear|Remove")).first.click()
    page.locator("#picture button[aria-label='Capture from camera']").click()
    page.locator("#picture").get_by_text("Click to Access Webcam").click()
    page.wait_for_timeout(1000)  # there is no camera, and nobody allowed one
    page.locator("#picture button[aria-label='Upload file']").click()
    page.locator("#picture input[type=file]").first.set_input_files(face)
    page.wait_for_function("document.querySelector('#answers .top td')?.innerText == 'happy'")


def test_nothing_is_asked_of_another_machine(page, address):
    own = (address, "data:", "blob:", "about:")
    assert page.asked
    assert [url for url in page.asked if not url.startswith(own)] == []
