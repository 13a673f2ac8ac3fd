import base64
import hashlib
import re

import numpy as np
import pytest

from fer_lightning.errors import UserError
from fer_lightning.plots.style import new_figure
from fer_lightning.report.content import Picture, Points, Report, Scatter, Section, Table, Text
from fer_lightning.report.render import html
from fer_lightning.report.render.html import render

EVIL = "</script><script>alert(1)</script><img src=x onerror=alert(1)>\"'"


def report_of(*items, title="A study"):
    return Report(title, "drawn faces", (Section("s", "Results", items),))


def points_of(name="cnn", count=4, **other):
    arrays = {
        "xy": np.arange(2 * count, dtype=np.float32).reshape(count, 2),
        "row": np.arange(count),
        "label": np.arange(count) % 2,
        "predicted": np.zeros(count, np.int64),
        "confidence": np.full(count, 0.5, np.float32),
    }
    return Points(name, **(arrays | other))


def noise(seed=0):
    figure = new_figure(2, 2)
    figure.subplots().imshow(np.random.default_rng(seed).random((300, 300)))
    return Picture("noise", "Noise.", "Noise, grey.", figure)


def test_only_the_pages_own_scripts_stand_in_it():
    scatter = Scatter(EVIL, EVIL, (EVIL, EVIL), (points_of(EVIL),))
    table = Table(EVIL, EVIL, (EVIL, "b"), ((EVIL, EVIL),), (EVIL,))
    picture = Picture(EVIL, EVIL, EVIL, new_figure(1, 1))
    words = (Text(EVIL, kind) for kind in ("plain", "note", "verdict"))
    page = render(Report(EVIL, EVIL, (Section(EVIL, EVIL, (*words, table, picture, scatter)),)))
    assert page.count("<script") == page.count("</script>") == 2  # the page's own, and data
    assert "<img src=x" not in page
    assert "onerror=alert(1)&gt;" in page


def test_what_no_page_may_hold_is_replaced():
    items = (Text("a\x00b"), Table("t", "c\x01d", ("e\x02f",), (("g\x03h",),)))
    page = render(report_of(*items, title="i\x04j"))
    assert not re.search(r"[\x00-\x08]", page)
    for shown in ("a�b", "c�d", "e�f", "g�h", "i�j"):
        assert shown in page


def test_nothing_is_loaded_from_anywhere():
    page = render(
        report_of(Text("Words."), noise(), Scatter("t", "T.", ("a", "b"), (points_of(),)))
    )
    sources = re.findall(r'(?:src|href)="([^"]*)"', page)
    assert sources
    assert all(source.startswith(("data:", "#")) for source in sources)
    assert "@import" not in page
    assert "url(" not in page


def test_the_policy_names_the_hash_of_what_stands_in_the_page():
    page = render(report_of(Text("Words.")))
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page).group(1)
    style = re.search(r"<style>(.*?)</style>", page, re.DOTALL).group(1)
    script = re.search(r"<script>(.*?)</script>", page, re.DOTALL).group(1)
    hashes = (base64.b64encode(hashlib.sha256(t.encode()).digest()) for t in (style, script))
    style, script = (one.decode() for one in hashes)
    assert policy == (
        f"default-src 'none'; img-src data:; style-src 'sha256-{style}'; "
        f"script-src 'sha256-{script}'; base-uri 'none'; form-action 'none'"
    )


def test_the_same_report_gives_the_same_page():
    assert render(report_of(noise())) == render(report_of(noise()))


def test_a_large_page_has_pictures_of_lower_resolution(monkeypatch):
    large = render(report_of(noise()))
    monkeypatch.setattr(html, "LARGEST", len(large) - 1)
    small = render(report_of(noise()))
    assert len(small) < len(large)
    assert 'width="240" height="240"' in small, "it takes as much room on the screen"


def test_tables_and_figures_are_counted_and_found_by_anchors():
    table = Table("same", "Caption.", ("a",), ((1,),))
    page = render(report_of(table, noise(), table, Scatter("t", "T.", (), ())))
    assert re.findall(r"<b>((?:Table|Figure) \d)\.</b>", page) == [
        "Table 1", "Figure 1", "Table 2", "Figure 2",
    ]  # fmt: skip
    anchors = re.findall(r' id="([^"]*)"', page)
    assert len(anchors) == len(set(anchors))
    assert {"s", "same", "same-2", "noise", "t"} <= set(anchors)


def test_verdicts_share_a_list_and_show_their_outcome():
    page = render(report_of(*(Text(f"**H {word}**: x", "verdict") for word in
                              ("supported", "not supported", "undecided"))))  # fmt: skip
    assert page.count('<ul class="verdicts">') == 1
    assert re.findall(r'<li class="verdict (\w+)">', page) == ["yes", "no", "open"]


def test_points_without_place_are_left_out_of_plot_and_data():
    xy = np.array([[0, 0], [np.nan, 1], [1, 1], [2, np.inf]], np.float32)
    page = render(report_of(Scatter("t", "T.", ("a", "b"), (points_of(xy=xy),))))
    assert '"row":[0,2]' in page
    assert "NaN" not in page.split('<script type="application/json">')[1].split("</script>")[0]


def test_a_scatter_of_uneven_arrays_is_refused():
    scatter = Scatter("t", "T.", ("a", "b"), (points_of(label=np.zeros(3, np.int64)),))
    with pytest.raises(UserError, match="as many label as xy but got 3 and 4"):
        render(report_of(scatter))


def test_maps_without_their_rows_are_refused():
    points = points_of(maps=np.zeros((2, 6, 6), np.float32))
    with pytest.raises(UserError, match="as many maps as map_rows but got 2 and 0"):
        render(report_of(Scatter("t", "T.", ("a", "b"), (points,))))


def test_faces_without_their_rows_are_refused():
    scatter = Scatter("t", "T.", ("a", "b"), (points_of(),), faces=np.zeros((3, 8, 8), np.uint8))
    with pytest.raises(UserError, match="as many faces as face_rows"):
        render(report_of(scatter))


def test_page_has_no_other_parts():
    from pathlib import Path

    root = Path(__file__).parents[3]
    names = {path.name for path in (root / "fer_lightning/report/render/page").iterdir()}
    templates = {"page.html", "picture.html", "scatter.html", "table.html"}
    assert names == {"page.css", *templates, *html.SCRIPTS}
