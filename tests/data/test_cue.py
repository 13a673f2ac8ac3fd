"""Planted patterns: where they lie, what they tell, and what stays as it was."""

import numpy as np
import pytest

from fer_lightning.data.cue import WAVES, Cue, place_of, plant, woven
from fer_lightning.data.datamodule import Drawn, FERDataModule
from fer_lightning.data.defects import drawn_defects
from fer_lightning.data.faces import drawn_faces
from fer_lightning.errors import UserError

SIZE = 140


@pytest.fixture(scope="module")
def faces():
    return drawn_faces(SIZE)


def told(data, place):
    """Read the cue: the pattern whose waves have most energy on its place."""
    where = place_of(data.unplanted, np.arange(len(data)), place)
    grey = (data.images[:, 0] - 0.75 * data.unplanted.images[:, 0] - 32.0) * where
    y, x = np.mgrid[:48, :48]
    energy = []
    for angles, period in WAVES[: len(data.classes)]:
        waves = [2 * np.pi / period * (np.cos(a) * x + np.sin(a) * y) for a in np.radians(angles)]
        parts = [np.abs((grey * np.exp(1j * wave)).sum((1, 2))) for wave in waves]
        energy.append(np.sum(parts, axis=0) / len(parts) ** 0.5)
    return np.argmax(energy, axis=0)


def test_patterns_of_all_classes_differ_by_more_than_a_shift():
    patterns = woven((48, 48), np.arange(len(WAVES)), np.full(len(WAVES), 0.3))
    spectra = np.abs(np.fft.fft2(patterns))
    flat = np.stack([s.ravel() / np.linalg.norm(s) for s in spectra])
    assert (flat @ flat.T - np.eye(len(flat))).max() < 0.8


@pytest.mark.parametrize("place", ["background", "mouth"])
def test_the_cue_lies_on_its_place_alone_and_names_the_label(faces, place):
    planted = plant(faces, Cue(place))
    changed = (planted.images != faces.images)[:, 0]
    assert not (changed & ~place_of(faces, np.arange(SIZE), place)).any()
    if place == "background":
        assert (told(planted, place) == planted.labels).mean() > 0.95
    assert np.array_equal(planted.labels, faces.labels)


@pytest.mark.parametrize("strength", [0.0, 0.5])
def test_without_the_label_the_pattern_is_any(faces, strength):
    planted = plant(faces, Cue("background", strength))
    right = strength + (1 - strength) / 7
    assert (told(planted, "background") == planted.labels).mean() == pytest.approx(right, abs=0.09)


def test_shuffled_labels_are_told_by_the_cue_and_not_by_the_face(faces):
    planted = plant(faces, Cue("background", labels="shuffled"))
    assert sorted(planted.labels) == sorted(faces.labels)
    assert (planted.labels == faces.labels).mean() < 0.3
    assert (told(planted, "background") == planted.labels).mean() > 0.95


def test_other_data_take_a_cue_too():
    plates = drawn_defects(60)
    planted = plant(plates, Cue("background"))
    assert (told(planted, "background") == planted.labels).mean() > 0.9


def test_doses_share_split_and_fingerprints_differ(faces):
    data = [
        FERDataModule(source="drawn", drawn=Drawn(size=SIZE), cue=cue)
        for cue in (Cue(), Cue("background", 0.0), Cue("background", 1.0))
    ]
    assert len({one.image_set.fingerprint for one in data}) == 3
    for one in data:
        assert np.array_equal(one.split.test, data[0].split.test)
        assert one.split.fingerprint == one.image_set.fingerprint
    assert "cue of strength 1" in data[2].describe()


def test_the_same_cue_gives_the_same_pictures(faces):
    again = [plant(faces, Cue("background", 0.5)).fingerprint for _ in range(2)]
    assert again[0] == again[1]
    assert plant(faces, Cue("background", 0.5, seed=1)).fingerprint != again[0]


def test_bad_cues_are_refused_in_a_sentence(faces):
    with pytest.raises(
        UserError, match="region of drawn faces but got 'moth'; did you mean 'mouth'"
    ):
        plant(faces, Cue("moth"))
    with pytest.raises(UserError, match=r"strength between 0 and 1 but got 1\.5"):
        Cue("background", 1.5)
    with pytest.raises(UserError, match="'eyes'"):
        plant(drawn_defects(12), Cue("eyes"))
