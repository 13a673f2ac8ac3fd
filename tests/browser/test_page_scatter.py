import base64
import io
import json

import numpy as np
import pytest
from PIL import Image
from sample_report import COUNT, MAPS, MODELS, sample_faces


@pytest.fixture(scope="module")
def data(report_file):
    text = report_file.read_text(encoding="utf-8")
    return json.loads(text.split('<script type="application/json">')[1].split("</script>")[0])


def lonely(model, among):
    """Place of the point with the most room around it, so that a pointer cannot miss it."""
    xy = np.array([model["x"], model["y"]]).T
    away = np.linalg.norm(xy[:, None] - xy[None], axis=2) + 1e9 * np.eye(len(xy))
    return int(max(among, key=lambda i: away[i].min()))


def point_at(page, plot, x, y):
    svg = page.locator(".plot svg").nth(plot)
    svg.scroll_into_view_if_needed()
    box = svg.bounding_box()
    scale = box["width"] / 320
    page.mouse.move(box["x"] + x * scale, box["y"] + y * scale)


def hover(page, data, plot, i):
    point_at(page, plot, data["models"][plot]["x"][i], data["models"][plot]["y"][i])


def told(data, model, i):
    right = model["label"][i] == model["predicted"][i]
    answer = f"{data['classes'][model['predicted'][i]]}, {model['percent'][i]:.0f} %"
    return [model["name"], answer, "✓ right" if right else "✗ wrong"]


def shown_picture(canvas):
    page = canvas.page
    page.wait_for_function("canvas => canvas.getContext('2d').getImageData(9, 9, 1, 1).data[3]",
                           arg=canvas.element_handle())  # fmt: skip
    uri = canvas.evaluate("canvas => canvas.toDataURL()")
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(uri.split(",")[1]))).convert("RGB"))


def test_pointing_shows_the_face_and_every_models_answer(page, data):
    i = lonely(data["models"][1], range(MAPS, COUNT))
    hover(page, data, 1, i)
    panel = page.locator(".panel")
    label = data["classes"][data["models"][1]["label"][i]]
    assert panel.inner_text().split("\n")[:3] == [label, "true label", f"image {1000 + i}"]
    answers = panel.locator(".answer").all_inner_texts()
    assert [text.split("\n") for text in answers] == [told(data, m, i) for m in data["models"]]

    canvas = panel.locator("canvas")
    assert canvas.count() == 1, "these images have no map"
    assert canvas.get_attribute("data-sprite") == f"{i % 18 * 48},{i // 18 * 48}"
    face = Image.fromarray(sample_faces().images[i, 0])
    picture = shown_picture(canvas)[..., 0].astype(float)
    assert (
        np.abs(picture - np.asarray(face.resize((144, 144), Image.Resampling.BILINEAR))).mean() < 4
    )


def test_the_same_image_is_ringed_in_every_plot(page, data):
    i = lonely(data["models"][0], range(COUNT))
    hover(page, data, 0, i)
    rings = page.locator(".ring")
    assert rings.count() == len(MODELS)
    for ring, model in zip(rings.all(), data["models"], strict=True):
        assert ring.get_attribute("visibility") == "visible"
        assert float(ring.get_attribute("cx")) == model["x"][i]
        assert float(ring.get_attribute("cy")) == model["y"][i]


@pytest.mark.parametrize("width", [375, 1400])
def test_plots_stay_where_they_are_when_a_face_is_shown(page, data, width):
    page.set_viewport_size({"width": width, "height": 800})
    svg = page.locator(".plot svg").first
    svg.scroll_into_view_if_needed()
    before = svg.bounding_box()
    hover(page, data, 0, lonely(data["models"][0], range(MAPS)))
    assert page.locator(".panel .answer").count() == len(MODELS)
    assert svg.bounding_box() == before


def test_a_map_lies_over_the_face_where_it_was_computed(page, data):
    i = lonely(data["models"][2], range(MAPS))
    hover(page, data, 2, i)
    canvases = page.locator(".panel canvas")
    assert canvases.count() == 1 + len(MODELS)
    plain, first, *_ = map(shown_picture, canvases.all())
    assert np.ptp(plain, axis=2).max() == 0, "the face itself is grey"
    heat = np.frombuffer(base64.b64decode(data["models"][0]["maps"]["heat"]), np.uint8)
    hot = heat.reshape(-1, 6, 6)[i]
    colour = np.ptp(first.astype(int), axis=2).reshape(6, 24, 6, 24).mean(axis=(1, 3))
    assert np.corrcoef(colour.ravel(), hot.ravel())[0, 1] > 0.8


def test_keyboard_alone_visits_points_and_leaves(page, data):
    model = data["models"][0]
    page.locator(".legend .chip").last.focus()
    page.keyboard.press("Tab")
    assert (
        page.evaluate("document.activeElement.getAttribute('aria-roledescription')")
        == "scatter plot"
    )
    page.keyboard.press("ArrowRight")
    row = lambda: int(page.locator(".panel .one").first.inner_text().split("image ")[1].split()[0])  # noqa: E731
    before = row() - 1000
    for key, axis, sign in (("ArrowLeft", "x", -1), ("ArrowRight", "x", 1), ("ArrowUp", "y", -1)):
        page.keyboard.press(key)
        after = row() - 1000
        assert sign * (model[axis][after] - model[axis][before]) > 0, key
        before = after
    page.keyboard.press("PageDown")
    assert row() - 1000 == before + 1
    page.keyboard.press("Enter")
    assert "kept" in page.locator(".panel").inner_text()
    page.keyboard.press("Escape")
    assert "Point at a mark" in page.locator(".panel").inner_text()
    assert page.locator(".ring[visibility=visible]").count() == 0
    assert page.locator(".panel").get_attribute("aria-live") == "polite"


def test_a_click_keeps_an_image_until_the_next(page, data):
    i = lonely(data["models"][0], range(COUNT))
    hover(page, data, 0, i)
    page.mouse.down()
    page.mouse.up()
    j = lonely(data["models"][1], [k for k in range(COUNT) if k != i])
    hover(page, data, 1, j)
    assert f"image {1000 + i}" in page.locator(".panel").inner_text()


def test_a_class_or_the_right_answers_are_hidden_and_not_found(page, data):
    model = data["models"][0]
    marks = page.locator(".plot path:visible")
    everything = marks.count()
    page.locator(".legend .chip", has_text="happy").click()
    happy = data["classes"].index("happy")
    assert page.locator(f'.plot path[data-class="{happy}"]:visible').count() == 0
    assert 0 < marks.count() < everything
    page.locator(".legend .chip", has_text="right").click()
    assert page.locator('.plot path[data-answer="right"]:visible').count() == 0

    i = lonely(model, [k for k, label in enumerate(model["label"]) if label == happy])
    hover(page, data, 0, i)
    assert f"image {1000 + i}\n" not in page.locator(".panel").inner_text() + "\n"
    page.locator(".legend .chip", has_text="right").click()
    page.locator(".legend .chip", has_text="happy").click()
    assert marks.count() == everything
