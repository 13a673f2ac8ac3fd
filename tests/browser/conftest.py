"""One Chromium for a module of tests; without a browser they are skipped and say why."""

import os
import shutil
from pathlib import Path

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
OFF = ("gpu", "quic", "background-networking", "component-update", "sync")
OPTIONS = ["--no-sandbox", "--no-first-run", *(f"--disable-{name}" for name in OFF)]


def pytest_collection_modifyitems(items):
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="module")
def chromium():
    api = pytest.importorskip(
        "playwright.sync_api", reason="Playwright is missing: pip install -e '.[test]'"
    )
    path = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
    if not path:
        pytest.skip("no Chromium found: apt-get install chromium, or set CHROMIUM to its path")
    # Left again after each module: while it is entered, nobody else can run an event loop.
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=OPTIONS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def report_file(tmp_path_factory):
    from sample_report import sample_report

    from fer_lightning.report.render.html import render

    path = tmp_path_factory.mktemp("page") / "report.html"
    path.write_text(render(sample_report()), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def opened(chromium, report_file):
    """The page at 1400 pixels, and what it asked the network or complained about."""
    context = chromium.new_context(
        viewport={"width": 1400, "height": 900},
        color_scheme="light",
        permissions=["clipboard-read", "clipboard-write"],
    )
    context.set_default_timeout(10_000)
    page = context.new_page()
    page.asked, page.complaints = [], []
    page.on("request", lambda request: page.asked.append(request.url))
    page.on("console", lambda message: page.complaints.append(message.text))
    page.on("pageerror", lambda error: page.complaints.append(str(error)))
    page.goto(report_file.as_uri())
    yield page
    context.close()


@pytest.fixture
def page(opened):
    """The page as if just opened, which is quicker than a new one."""
    opened.set_viewport_size({"width": 1400, "height": 900})
    opened.emulate_media(media="screen", color_scheme="light", reduced_motion="reduce")
    opened.evaluate("localStorage.clear()")
    opened.reload()
    return opened
