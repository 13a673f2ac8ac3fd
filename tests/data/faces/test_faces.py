from pathlib import Path

import numpy as np
import pytest
import yaml
from sklearn.linear_model import RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fer_lightning.data.faces import drawn_faces
from fer_lightning.data.image_set import ImageSet, Usage
from fer_lightning.data.labels import FER_CLASSES
from fer_lightning.errors import UserError

CONFIGS = Path(__file__).parents[3] / "configs"


@pytest.fixture(scope="module")
def faces() -> ImageSet:
    return drawn_faces(1050)


def test_an_image_depends_on_seed_and_index_only(faces: ImageSet) -> None:
    few = drawn_faces(30)
    more = faces.subset(np.arange(30))
    assert np.array_equal(few.images, more.images)
    assert np.array_equal(few.labels, more.labels)
    assert few.masks is not None
    assert np.array_equal(few.masks, more.masks)
    assert not np.array_equal(few.images, drawn_faces(30, seed=1).images)


def test_shapes_names_and_parts(faces: ImageSet) -> None:
    assert faces.images.shape == (1050, 1, 48, 48)
    assert faces.images.dtype == np.uint8
    assert faces.classes == FER_CLASSES
    assert faces.name == "drawn faces"
    assert faces.files[12] == "drawn/000012"
    assert np.bincount(faces.labels).tolist() == [150] * 7
    parts = [int((faces.usage == part).sum()) for part in list(Usage)[1:]]
    assert parts == [840, 105, 105]
    for part in list(Usage)[1:]:  # each part is balanced too
        assert len(set(np.bincount(faces.labels[faces.usage == part]))) == 1


def test_no_two_faces_are_the_same(faces: ImageSet) -> None:
    assert len(np.unique(faces.images.reshape(len(faces), -1), axis=0)) == len(faces)


def test_unbalanced_classes_follow_fer2013() -> None:
    counts = np.bincount(drawn_faces(448, balanced=False, with_masks=False).labels, minlength=7)
    expected = 448 * np.array([4953, 547, 5121, 8989, 6077, 4002, 6198]) / 35887
    assert np.abs(counts - expected).max() < 3 * np.sqrt(expected.max())
    assert counts.argmin() == FER_CLASSES.index("disgust")


def test_fingerprint_tells_options_apart() -> None:
    base = drawn_faces(7)
    assert base.fingerprint == drawn_faces(7, with_masks=False).fingerprint
    others = [drawn_faces(14), drawn_faces(7, seed=1), drawn_faces(7, cue="background")]
    assert len({base.fingerprint, *(other.fingerprint for other in others)}) == 4


def test_heads_wander_as_far_as_movement_says() -> None:
    """The middles of the mouths spread in proportion to it, whatever the difficulty."""

    def spread(**options: float) -> float:
        masks = drawn_faces(210, **options).masks
        assert masks is not None
        x = (masks[:, 3] * np.arange(48)).sum((1, 2)) / masks[:, 3].sum((1, 2))
        return float(x.std())

    calm, usual, lively = spread(movement=0), spread(movement=1), spread(movement=2)
    assert calm < 0.3 * usual
    assert lively > 1.7 * usual
    same = drawn_faces(14, difficulty=0.5, movement=1.0)
    assert np.array_equal(same.images, drawn_faces(14).images)
    assert same.fingerprint != drawn_faces(14, movement=1.5).fingerprint
    with pytest.raises(UserError, match="movement"):
        drawn_faces(14, movement=4)


@pytest.mark.slow
def test_a_linear_model_finds_little_in_the_faces_of_the_first_run() -> None:
    """What configs/drawn.yaml says: pixels alone give no more than 0.45; chance is 0.143."""
    options = yaml.safe_load((CONFIGS / "drawn.yaml").read_text())["data"]["drawn"]
    faces = drawn_faces(**options, with_masks=False)
    pixels = faces.images.reshape(len(faces), -1) / 255.0
    train, test = (faces.usage == part for part in (Usage.TRAINING, Usage.PRIVATE_TEST))
    linear = make_pipeline(StandardScaler(), RidgeClassifier(alpha=1e4))
    linear.fit(pixels[train], faces.labels[train])
    assert 0.3 < linear.score(pixels[test], faces.labels[test]) <= 0.45


def test_masks_can_be_left_out() -> None:
    bare = drawn_faces(7, with_masks=False)
    assert bare.masks is None
    assert bare.mask_regions == ()


def test_every_region_has_pixels_and_lies_in_the_face(faces: ImageSet) -> None:
    assert faces.masks is not None
    assert faces.mask_regions == ("eyes", "eyebrow", "nose", "mouth", "face")
    area = faces.masks.sum((2, 3))
    assert (area.min(0) > [40, 40, 30, 20, 800]).all()
    inside = (faces.masks & faces.masks[:, -1:]).sum((2, 3)) / area
    assert inside.mean(0).min() > 0.95
    assert inside.min() > 0.5


def test_faces_stand_where_fer2013_has_them(faces: ImageSet) -> None:
    assert faces.masks is not None
    y, x = np.mgrid[:48, :48]
    mean = faces.masks.mean(0)
    where = {
        name: ((mean[k] * x).sum() / mean[k].sum(), (mean[k] * y).sum() / mean[k].sum())
        for k, name in enumerate(faces.mask_regions)
    }
    # means of the two sides of the landmark template of FER-2013
    for name, point in (
        ("eyes", (23.8, 18.05)),
        ("eyebrow", (23.65, 13.15)),
        ("mouth", (24, 36.1)),
    ):
        assert where[name] == pytest.approx(point, abs=1.0)


def test_eyes_are_darker_than_cheeks(faces: ImageSet) -> None:
    mean = faces.images[:, 0].mean(0)
    assert mean[17:20, 13:18].mean() < mean[24:28, 11:16].mean() - 15


def test_no_single_pixel_gives_the_class_away(faces: ImageSet) -> None:
    grey = (faces.images[:, 0] // 16).reshape(len(faces), -1)
    train, test = np.arange(0, 1050, 2), np.arange(1, 1050, 2)
    one_hot = np.eye(7)[faces.labels[train]]
    table = np.stack([(grey[train] == g).T @ one_hot for g in range(16)])  # (16, pixels, 7)
    guess = table.argmax(2)[grey[test], np.arange(grey.shape[1])]
    accuracy = (guess == faces.labels[test, None]).mean(0)
    assert accuracy.max() < 0.30


def test_larger_pictures_show_the_same_faces(faces: ImageSet) -> None:
    large = drawn_faces(7, image_size=96, difficulty=0.0).images[:, 0]
    small = drawn_faces(7, difficulty=0.0).images[:, 0]
    halved = large.reshape(7, 48, 2, 48, 2).mean((2, 4))
    for a, b in zip(halved, small, strict=True):
        assert np.corrcoef(a.ravel(), b.ravel())[0, 1] > 0.97


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"size": 6}, "size of the drawn faces between 7 and 1000000 but got 6"),
        ({"image_size": 31}, "image_size of the drawn faces between 32 and 512 but got 31"),
        ({"image_size": 513}, "image_size"),
        ({"cue_strength": 1.5}, "cue_strength of the drawn faces between 0 and 1 but got 1.5"),
        ({"cue_strength": float("nan")}, "cue_strength"),
        ({"difficulty": -0.1}, "difficulty"),
        ({"seed": -1}, "seed"),
    ],
)
def test_values_out_of_range_are_refused(options: dict[str, float], message: str) -> None:
    with pytest.raises(UserError, match=message):
        drawn_faces(**options)  # type: ignore[arg-type]
