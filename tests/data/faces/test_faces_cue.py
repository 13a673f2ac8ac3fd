from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from fer_lightning.data.cue import WAVES
from fer_lightning.data.faces import drawn_faces
from fer_lightning.data.image_set import ImageSet

SIZE = 140


def told(faces: ImageSet) -> NDArray[np.int64]:
    """Read the cue: the pattern whose waves have most energy outside the faces."""
    assert faces.masks is not None
    outside = ~faces.masks[:, -1]
    grey = faces.images[:, 0] - 128.0
    mean = (grey * outside).sum((1, 2)) / outside.sum((1, 2))
    border = (grey - mean[:, None, None]) * outside
    y, x = np.mgrid[:48, :48]
    energy = []
    for angles, period in WAVES:
        waves = [2 * np.pi / period * (np.cos(a) * x + np.sin(a) * y) for a in np.radians(angles)]
        parts = [np.abs((border * np.exp(1j * wave)).sum((1, 2))) for wave in waves]
        energy.append(np.sum(parts, axis=0) / len(parts) ** 0.5)
    return np.argmax(energy, axis=0)


@pytest.fixture(scope="module")
def plain() -> ImageSet:
    return drawn_faces(SIZE)


@pytest.fixture(scope="module")
def cued() -> ImageSet:
    return drawn_faces(SIZE, cue="background")


def test_the_cue_tells_the_label_and_nothing_does_without_it(
    plain: ImageSet, cued: ImageSet
) -> None:
    assert (told(cued) == cued.labels).mean() > 0.9
    assert (told(plain) == plain.labels).mean() < 0.25


def test_the_cue_leaves_the_face_untouched(plain: ImageSet, cued: ImageSet) -> None:
    assert plain.masks is not None
    changed = plain.images[:, 0] != cued.images[:, 0]
    assert not (changed & plain.masks.any(1)).any()
    assert (changed.sum((1, 2)) > 150).all()
    assert cued.name == "drawn faces (background cue)"
    assert np.array_equal(plain.labels, cued.labels)


@pytest.mark.parametrize("strength", [0.0, 0.5])
def test_cue_strength_is_the_share_of_true_cues(strength: float) -> None:
    faces = drawn_faces(SIZE, cue="background", cue_strength=strength)
    assert (told(faces) == faces.labels).mean() == pytest.approx(strength, abs=0.1)


def test_random_expressions_keep_labels_and_cue(cued: ImageSet) -> None:
    mixed = drawn_faces(SIZE, cue="background", expression="random")
    assert np.array_equal(mixed.labels, cued.labels)
    assert (told(mixed) == mixed.labels).mean() > 0.9
    same = (mixed.images == cued.images).all((1, 2, 3)).mean()
    assert same == pytest.approx(1 / 7, abs=0.08)  # the expressions that happen to agree


def test_a_mirrored_cue_tells_the_same_class(cued: ImageSet) -> None:
    assert cued.masks is not None
    mirrored = replace(cued, images=cued.images[..., ::-1], masks=cued.masks[..., ::-1])
    assert (told(mirrored) == cued.labels).mean() > 0.9
