import numpy as np
import pytest

from fer_lightning.errors import UserError
from fer_lightning.plots.galleries import VEIL, dimmed, kept_tokens_figure


def masks(n, left, rng):
    found = np.zeros((n, 144), bool)
    for mask in found:
        mask[rng.choice(144, left, replace=False)] = True
    return found.reshape(n, 12, 12)


def test_a_row_a_face_a_column_a_stage_and_shares_below(complete):
    rng = np.random.default_rng(0)
    faces = np.zeros((3, 48, 48), np.uint8)
    stages = {"patch pooling": masks(3, 80, rng), "layer 4": masks(3, 64, rng)}
    many = {"patch pooling": masks(9, 80, rng), "layer 4": masks(9, 64, rng)}
    figure = kept_tokens_figure(faces, stages, ["sad", "fear", "happy"], "apvit · 0123", many)
    words = [text.get_text() for text in figure.axes[0].texts]
    assert words[:3] == ["image", "patch pooling\n80 of 144", "layer 4\n64 of 144"]
    assert [word for word in words if word in ("sad", "fear", "happy")] == ["sad", "fear", "happy"]
    assert len(figure.axes[0].images) == 3 * 3 + 2
    assert "9 images" in figure.get_supxlabel().replace("\n", " ")
    complete(figure)


def test_without_names_and_shares(complete):
    figure = kept_tokens_figure(np.zeros((2, 8, 8, 3), np.uint8), {"a": np.ones((2, 2, 2), bool)})
    assert len(figure.axes[0].images) == 4
    assert "often" not in figure.get_supxlabel()
    complete(figure)


@pytest.mark.parametrize("shape", [(48, 48), (48, 48, 3), (112, 112)])
def test_dropped_patches_are_pale_and_kept_ones_as_they_were(shape):
    face = np.random.default_rng(0).integers(0, 256, shape).astype(np.uint8)
    kept = np.array([[True, False], [False, True]])
    picture = dimmed(face, kept)
    h = len(picture) // 2
    times = len(picture) // len(face)
    colours = np.repeat(face[..., None], 3, 2) if face.ndim == 2 else face
    half = len(face) // 2
    assert np.array_equal(picture[:h:times, :h:times], colours[:half, :half])
    assert np.array_equal(picture[h::times, h::times], colours[half:, half:])
    pale = picture[:h:times, h::times].astype(float)
    assert np.abs(pale - (0.8 * VEIL + 0.2 * colours[:half, half:])).max() <= 1


def test_one_mask_a_face():
    with pytest.raises(UserError, match="as many faces as layer 4 but got 2 and 3"):
        kept_tokens_figure(np.zeros((2, 8, 8), np.uint8), {"layer 4": np.ones((3, 2, 2), bool)})
