import numpy as np
import pytest
from matplotlib.patches import Rectangle

from fer_lightning.data.labels import FER_CLASSES
from fer_lightning.errors import UserError
from fer_lightning.plots.galleries import gradcam_gallery
from fer_lightning.plots.style import RIGHT, WRONG


def answers(labels, predictions):
    """Faces whose grey level is their number, overlays one brighter."""
    n = len(labels)
    number = np.arange(n, dtype=np.uint8)
    faces = np.broadcast_to(10 * number[:, None, None], (n, 8, 8))
    overlays = np.broadcast_to(10 * number[:, None, None, None] + 1, (n, 16, 16, 3))
    confidences = np.linspace(0.2, 0.9, n)
    return faces, overlays, np.array(labels), np.array(predictions), confidences


def shown(figure):
    """Left, top and grey level of every picture, in reading order."""
    found = []
    for image in figure.axes[0].images:
        left, _, _, top = image.get_extent()
        found.append((round(top, 3), round(left, 3), int(np.asarray(image.get_array()).flat[0])))
    return sorted(found)


def below(figure):
    return [t.get_text() for t in figure.axes[0].texts if t.get_text().endswith("%")]


def test_a_row_a_class_right_left_of_wrong(complete):
    figure = gradcam_gallery(*answers([1, 0, 0, 1, 0], [0, 1, 0, 1, 0]), ("cat", "dog"), "title")
    rows = [
        [level for top, _, level in shown(figure) if top == row]
        for row in sorted({top for top, _, _ in shown(figure)})
    ]
    # cats: right 2 and 4, then wrong 1; dogs: right 3, wrong 0; each face before its overlay
    assert rows == [[20, 21, 40, 41, 10, 11], [30, 31, 0, 1]]
    assert figure.get_suptitle() == "title"
    complete(figure)


def test_methods_stand_side_by_side(complete):
    faces, overlays, *rest = answers([0, 0], [0, 1])
    both = np.stack([overlays, overlays + 1], axis=1)
    figure = gradcam_gallery(
        faces,
        both,
        *rest,
        ("cat", "dog"),
        per_side=1,
        methods=("Grad-CAM", "Integrated gradients"),
        signed=np.array([[True, False], [False, False]]),
        zero=np.array([[False, False], [True, False]]),
    )
    assert [level for _, _, level in shown(figure)] == [0, 1, 2, 10, 11, 12]
    words = [text.get_text() for text in figure.axes[0].texts]
    assert words.count("Grad-CAM") == words.count("Integrated\ngradients") == 2
    assert words.count("±") == 1
    assert "✗ dog 90 %, no heat by Grad-CAM" in words
    told = " ".join(text.get_text() for text in figure.texts).replace("\n", " ")
    assert "by Grad-CAM, Integrated gradients, from left to right" in told
    assert "blue against the class, red for it" in told
    complete(figure)


def test_right_and_wrong_are_told_in_words_and_by_the_frame():
    figure = gradcam_gallery(*answers([0, 0], [0, 1]), ("cat", "dog"))
    assert below(figure) == ["✓ cat 20 %", "✗ dog 90 %"]
    colours = [t.get_color() for t in figure.axes[0].texts if t.get_text().endswith("%")]
    assert colours == [RIGHT, WRONG]
    frames = [p for p in figure.axes[0].patches if isinstance(p, Rectangle)]
    assert frames[0].get_linewidth() < frames[1].get_linewidth()


def test_given_order_keeps_every_face_in_its_place():
    labels = [0, 0, 1, 1]
    first = gradcam_gallery(
        *answers(labels, [0, 1, 1, 0]), ("cat", "dog"), arrange="given", per_side=1
    )
    later = gradcam_gallery(
        *answers(labels, [1, 0, 0, 1]), ("cat", "dog"), arrange="given", per_side=1
    )
    assert shown(first) == shown(later)
    assert [level for _, _, level in shown(first)] == [0, 1, 10, 11, 20, 21, 30, 31]
    assert below(first) != below(later)


def test_classes_without_faces_and_halves_without_answers_say_so(texts, complete):
    figure = gradcam_gallery(*answers([3, 3], [0, 0]), FER_CLASSES)
    words = texts(figure)
    assert words.count("no images") == 6
    assert "no right prediction\namong 2 images" in words
    assert "0 of 2 right" in words
    assert [word for word in words if word in FER_CLASSES] == list(FER_CLASSES)
    complete(figure)


def test_ten_long_names_and_colour_faces_fit(complete):
    faces, overlays, labels, predictions, confidences = answers([0, 1], [1, 1])
    colour = np.repeat(faces[..., None], 3, axis=3)
    names = ("airplane", "automobile", *(f"class {k}" for k in range(8)))
    complete(gradcam_gallery(colour, overlays, labels, predictions, confidences, names, per_side=3))


def test_nothing_at_all_is_a_figure_with_notes(texts):
    nothing = np.zeros(0, int)
    pictures = np.zeros((0, 8, 8), np.uint8), np.zeros((0, 8, 8, 3), np.uint8)
    figure = gradcam_gallery(*pictures, nothing, nothing, np.zeros(0), ("cat",))
    assert "no images" in texts(figure)


def test_other_numbers_of_faces_and_labels_are_refused():
    faces, overlays, labels, predictions, confidences = answers([0, 1], [1, 1])
    with pytest.raises(UserError, match="as many labels as overlays but got 2 and 1"):
        gradcam_gallery(faces, overlays[:1], labels, predictions, confidences, ("cat", "dog"))
