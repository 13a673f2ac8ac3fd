import re

import numpy as np
import pytest

from fer_lightning.plots.style import new_figure
from fer_lightning.report.content import Picture, Points, Report, Scatter, Section, Table, Text
from fer_lightning.report.render.html import render

EVIL = "<script>window.hurt = 1</script><img src=x onerror='window.hurt = 1'>\"'&</style>"


def test_it_opens_without_network_and_without_complaint(page, report_file):
    page.locator(".plot svg").first.click()
    page.locator(".theme").click()
    asked = {url for url in page.asked if not url.startswith("data:")}
    assert asked == {report_file.as_uri()}
    assert page.complaints == []


def test_no_picture_is_missing(page):
    sizes = page.evaluate("[...document.images].map((image) => image.naturalWidth)")
    assert len(sizes) == 5
    assert min(sizes) > 100


@pytest.mark.parametrize("width", [375, 768, 1400])
def test_nothing_is_wider_than_the_window(page, width):
    page.set_viewport_size({"width": width, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    boxes = page.evaluate("[...document.querySelectorAll('main *')].filter((e) => !e.closest("
                          "'.box > *, svg *, pre *, [hidden]')).map((e) => "
                          "e.getBoundingClientRect().right)")  # fmt: skip
    assert max(boxes) <= width


def test_a_wide_table_scrolls_in_its_box_by_keyboard_too(page):
    page.set_viewport_size({"width": 375, "height": 800})
    box = page.locator("#focus-2 .box")
    page.wait_for_function("box => box.tabIndex === 0", arg=box.element_handle())
    assert box.evaluate("box => box.scrollWidth > box.clientWidth")


def luminance(colour):
    red, green, blue = (int(part) / 255 for part in re.findall(r"\d+", colour)[:3])
    line = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in (red, green, blue)]
    return float(np.dot(line, (0.2126, 0.7152, 0.0722)))


TEXTS = (
    *("header p", "main p", ".note", "figcaption", "pre code", "footer p", ".plot small"),
    *(f".verdict.{outcome} strong" for outcome in ("yes", "no", "open")),
    *("thead th", "td.n", "td.gap", ".notes li", ".panel .hint"),
    *("nav a", "nav a[aria-current]", ".chip[aria-pressed=false]", ".chip[aria-pressed=true]"),
)
GROUND = """(element) => {
  for (let e = element; e; e = e.parentElement) {
    const colour = getComputedStyle(e).backgroundColor;
    if (colour !== "rgba(0, 0, 0, 0)") return [getComputedStyle(element).color, colour];
  }
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_from_its_ground(page, scheme):
    page.emulate_media(color_scheme=scheme)
    page.locator(".legend .chip", has_text="sad").click()
    for place in TEXTS:
        ink, paper = map(luminance, page.locator(place).first.evaluate(GROUND))
        ratio = (max(ink, paper) + 0.05) / (min(ink, paper) + 0.05)
        assert ratio >= 4.5, f"{place} in {scheme}: {ratio:.1f}"
    paper = luminance(page.locator("body").evaluate(GROUND)[1])
    assert (paper < 0.1) == (scheme == "dark")


def test_the_theme_is_switched_and_kept(page):
    page.locator(".theme").click()
    page.locator(".theme").click()
    assert page.locator(".theme").inner_text() == "Theme: dark"
    page.reload()
    assert luminance(page.locator("body").evaluate(GROUND)[1]) < 0.1


def test_a_skip_link_and_landmarks_lead_the_way(page):
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the report"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    names = [
        page.get_by_role(role).count() for role in ("banner", "navigation", "main", "contentinfo")
    ]
    assert names == [1, 1, 1, 1]
    assert page.get_by_role("table", name="Test accuracy of every run").count() == 1
    assert page.get_by_role("img", name="Three lines, one a model: curves.").count() == 1


def test_it_prints_whole_tables_and_no_controls(page):
    page.set_viewport_size({"width": 680, "height": 1000})  # A4 with margins
    page.emulate_media(media="print")
    assert page.locator("nav, .tools, .panel, .theme").locator("visible=true").count() == 0
    beyond = page.evaluate(
        "[...document.querySelectorAll('.box')].map((b) => b.scrollWidth - b.clientWidth)"
    )
    assert max(beyond) <= 1
    pdf = page.pdf(format="A4")
    assert pdf.startswith(b"%PDF-")
    assert 3 <= len(re.findall(rb"/Type\s*/Page\b", pdf)) <= 12


def test_all_but_the_controls_is_there_without_script(chromium, report_file):
    context = chromium.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(report_file.as_uri())
    assert page.locator("#overview tbody tr:visible").count() == 27
    assert page.locator(".plot path:visible").count() > 100
    assert page.locator("input, .panel, .models, .theme").locator("visible=true").count() == 0
    context.close()


def evil_report():
    table = Table(EVIL, EVIL, (EVIL, "model"), ((EVIL, EVIL), ("x", "vit")), (EVIL,))
    xy, two = np.eye(2, dtype=np.float32), np.arange(2)
    points = tuple(Points(name, xy, two, two, two, two / 2) for name in (EVIL, "vit"))
    scatter = Scatter(EVIL, EVIL, (EVIL, EVIL), points)
    picture = Picture(EVIL, EVIL, EVIL, new_figure(1, 1))
    words = Text(EVIL), Text(f"**{EVIL}** `{EVIL}`", "verdict"), Text(EVIL, "note")
    return Report(EVIL, EVIL, (Section(EVIL, EVIL, (*words, table, scatter, picture)),))


def test_names_from_data_run_nothing(chromium, tmp_path):
    path = tmp_path / "evil.html"
    path.write_text(render(evil_report()), encoding="utf-8")
    context = chromium.new_context()
    page = context.new_page()
    complaints = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(path.as_uri())
    page.locator(".plot svg").first.focus()
    page.keyboard.press("ArrowRight")
    assert page.locator(".panel .answer b").first.text_content() == EVIL
    assert page.title() == EVIL
    assert page.evaluate("window.hurt") is None
    # had a name become markup after all, the policy would still not let it run
    page.evaluate("document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=\"hurt=1\">')")
    page.wait_for_timeout(100)
    assert page.evaluate("window.hurt") is None
    assert any("Content Security Policy" in text for text in complaints)
    context.close()
