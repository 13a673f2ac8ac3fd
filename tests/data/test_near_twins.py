"""Near-twins: made ones are found, different faces are not, and no chain joins strangers."""

import io
import os
import shutil
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from fer_lightning.data import cache, twins
from fer_lightning.data.cache import load, twins_of
from fer_lightning.data.cue import Cue
from fer_lightning.data.datamodule import ALIKE_BY_NATURE, Defects, Drawn, FERDataModule
from fer_lightning.data.faces import drawn_faces
from fer_lightning.data.image_set import ImageSet, Usage
from fer_lightning.data.splits import make_split
from fer_lightning.data.twins import AlikeError, Windows, find_twins
from fer_lightning.errors import UserError

LARGE = drawn_faces(20, image_size=56, seed=3, with_masks=False).images[:, 0]
FACES = LARGE[:, 4:52, 4:52]  # 48x48, with four pixels around


def shifted(large, y=0, x=0):
    return large[4 + y : 52 + y, 4 + x : 52 + x]


def rescaled(large, side=50):
    start = (56 - side) // 2
    crop = Image.fromarray(large[start : start + side, start : start + side])
    return np.asarray(crop.resize((48, 48), Image.Resampling.BICUBIC))


def encoded(picture, quality=50):
    file = io.BytesIO()
    Image.fromarray(picture).save(file, "JPEG", quality=quality)
    return np.asarray(Image.open(file))


CHANGES = {
    "shifted by 1": lambda large: shifted(large, 1, 0),
    "shifted by 2": lambda large: shifted(large, -2, 1),
    "shifted by 3": lambda large: shifted(large, 3, -3),
    "rescaled": rescaled,
    "encoded": lambda large: encoded(shifted(large)),
    "darker": lambda large: np.rint(0.6 * shifted(large) + 20).astype(np.uint8),
    "flipped": lambda large: shifted(large)[:, ::-1],
    "flipped and shifted": lambda large: shifted(large, 1, 2)[:, ::-1],
    "all": lambda large: encoded(rescaled(large))[:, ::-1],
}


def smooth(seed, n=1):
    """Unrelated pictures of zero mean and equal contrast, (n, 48, 48)."""
    blocks = np.random.default_rng(seed).normal(size=(n, 8, 8)).repeat(6, 1).repeat(6, 2)
    blocks -= blocks.mean((1, 2), keepdims=True)
    return blocks / blocks.std((1, 2), keepdims=True)


def grey(values):
    return np.clip(np.rint(128 + 30 * values), 0, 255).astype(np.uint8)[:, None]


def with_twins(n=150, made=60):
    """Unrelated pictures, the last of which are crops of the first; the expected pairs."""
    large = np.random.default_rng(1).integers(0, 256, (n - made, 9, 9)).repeat(6, 1).repeat(6, 2)
    large = large.astype(np.uint8)
    images = np.concatenate([large[:, 2:50, 2:50], large[:made, 3:51, 1:49]])[:, None]
    return images, [[row, n - made + row] for row in range(made)]


def image_set(images):
    n = len(images)
    usage, files = np.full(n, Usage.UNKNOWN, np.int8), np.array([f"row {i}" for i in range(n)])
    return ImageSet("toy", images, np.arange(n) % 2, usage, ("happy", "sad"), files)


@pytest.fixture
def data():
    return image_set(with_twins()[0])


@pytest.fixture
def folder(tmp_path, data):
    """Pictures in folders by class, as files; some are near-twins."""
    for row, (image, label) in enumerate(zip(data.images, data.labels, strict=True)):
        place = tmp_path / "faces" / data.classes[label]
        place.mkdir(parents=True, exist_ok=True)
        Image.fromarray(image[0]).save(place / f"{row:03}.png")
    return tmp_path / "faces"


@pytest.mark.parametrize("change", CHANGES)
def test_the_same_picture_is_found(change):
    images = np.concatenate([FACES, [CHANGES[change](large) for large in LARGE[:10]]])[:, None]
    found = find_twins(images)
    made = [[row, 20 + row] for row in range(10)]
    assert all(pair in made for pair in found.pairs.tolist()), "no two different faces"
    # drawn lines are thin: of some faces a change of scale leaves too little
    assert len(found.pairs) >= (6 if change in ("rescaled", "all") else 10)
    assert set(found.mirrored.tolist()) == {"flipped" in change or change == "all"}
    for one, other in found.pairs:
        assert found.groups[one] == found.groups[other] == one
    assert (found.correlation >= 0.9).all()


def test_the_correlation_is_the_best_over_all_shifts():
    one, other = FACES[0].astype(float), shifted(LARGE[0], 2, -1).astype(float)
    middle = one[3:45, 3:45].ravel()
    by_hand = max(
        np.corrcoef(middle, other[y : y + 42, x : x + 42].ravel())[0, 1]
        for y in range(7)
        for x in range(7)
    )
    pair, pictures = np.array([[0, 1]]), np.stack([one, other]).astype(np.uint8)
    assert by_hand == pytest.approx(1)
    assert Windows(pictures).correlations(pair, np.array([False]))[0] == pytest.approx(by_hand)


def test_copies_are_in_the_groups_of_their_twins():
    images = np.stack([FACES[0], FACES[1], FACES[0], shifted(LARGE[0], 1, 1)])[:, None]
    found = find_twins(images)
    assert found.copies.tolist() == [0, 1, 0, 3]
    assert found.groups.tolist() == [0, 1, 0, 0]
    assert found.pairs.tolist() == [[0, 3]]
    assert found.seen(np.array([2])).tolist() == [True, False, True, True]
    assert found.seen(np.array([1])).tolist() == [False, True, False, False]


def test_no_chain_leads_from_one_picture_to_another():
    one, other = smooth(0)[0], smooth(1)[0]
    other -= (other * one).mean() * one  # so that their correlation is the cosine of the angle
    other /= other.std()
    angles = np.radians([0, 20, 40, 60, 80])
    chain = grey(np.cos(angles)[:, None, None] * one + np.sin(angles)[:, None, None] * other)
    found = find_twins(chain)
    assert [[row, row + 1] in found.pairs.tolist() for row in range(4)] == [True] * 4
    assert np.bincount(found.groups).max() == 2, "at 40 degrees two of them correlate by 0.77"
    assert found.apart == 2, "of four pairs, two are in one group each"
    assert find_twins(chain[:2]).groups.tolist() == [0, 0]


def test_flat_pictures_are_twins_of_nothing():
    noise = np.random.default_rng(0).integers(0, 6, (4, 1, 48, 48)).astype(np.uint8)
    steps = np.full((2, 1, 48, 48), 7, np.uint8)
    steps[:, :, 24:] = np.array([9, 10])[:, None, None, None]
    assert len(find_twins(np.concatenate([noise, steps])).pairs) == 0
    steps[:, :, 24:] = np.array([90, 100])[:, None, None, None]
    assert len(find_twins(np.concatenate([noise, steps])).pairs) == 1


@pytest.mark.parametrize("blocks", [(256, 4096), (7, 50)])
def test_the_size_of_blocks_changes_nothing(blocks, monkeypatch):
    monkeypatch.setattr(twins, "QUERIES", blocks[0])
    monkeypatch.setattr(twins, "WINDOWS", blocks[1])
    images, made = with_twins()
    found = find_twins(images)
    assert found.pairs.tolist() == made
    assert found.apart == 0


@pytest.mark.parametrize("side", [24, 28, 64])
def test_other_sizes(side):
    blocks = np.random.default_rng(0).integers(0, 256, (20, 9, 9)).repeat(8, 1).repeat(8, 2)
    large = blocks.astype(np.uint8)
    crops = [large[:, :side, :side], large[:5, 1 : side + 1, 1 : side + 1]]
    found = find_twins(np.concatenate(crops)[:, None])
    assert found.pairs.tolist() == [[row, 20 + row] for row in range(5)]


@pytest.mark.parametrize("shape", [(1, 96, 96), (3, 48, 48), (1, 8, 8)])
def test_pictures_of_another_kind(shape):
    message = "expected grey pictures of 24 to 64 pixels a side for duplicates: near but got"
    with pytest.raises(UserError, match=message):
        find_twins(np.zeros((3, *shape), np.uint8))


def test_nothing_has_no_twins():
    assert len(find_twins(np.zeros((0, 1, 48, 48), np.uint8)).pairs) == 0


def test_pictures_that_are_alike_by_nature():
    rng = np.random.default_rng(0)
    alike = grey(smooth(0) + 0.2 * rng.normal(size=(12, 48, 48)))
    with pytest.raises(AlikeError, match="alike by nature; use duplicates: group"):
        find_twins(alike)
    faces = image_set(alike)
    by_itself = FERDataModule.of(faces)
    assert by_itself.duplicates == "group"
    assert ALIKE_BY_NATURE in by_itself.split.notes
    with pytest.raises(AlikeError):
        _ = FERDataModule.of(faces, duplicates="near").split


def test_near_twins_stay_on_one_side(data):
    near, group = (make_split(data, duplicates=kind) for kind in ("near", "group"))
    found = find_twins(data.images)
    sides = np.zeros(len(data), int)
    for number, part in enumerate(("train", "val", "test")):
        sides[getattr(near, part)] = number
    assert (sides[found.pairs[:, 0]] == sides[found.pairs[:, 1]]).all()
    assert near.counts["test_with_near_twin_in_train"] == len(near.near_twins) == 0
    assert near.counts["moved"] > 0 == group.counts["moved"]
    assert group.near_twins is None, "nobody looked"


def test_a_split_by_identical_copies_counts_near_twins(data):
    found = find_twins(data.images)
    split = make_split(data, duplicates="group", twins=found)
    twin = dict(found.pairs.tolist()) | dict(found.pairs[:, ::-1].tolist())
    train = set(split.train.tolist())
    expected = [row for row in split.test.tolist() if twin.get(row) in train]
    assert split.near_twins.tolist() == expected != []
    assert split.counts["test_with_near_twin_in_train"] == len(expected)
    assert split.counts["test_with_twin_in_train"] == 0
    np.testing.assert_array_equal(split.train, make_split(data, duplicates="group").train)


def test_fractions_are_nested_and_leave_the_test_alone(data):
    small, whole = (make_split(data, duplicates="near", fraction=f) for f in (0.3, 1.0))
    assert set(small.train) < set(whole.train)
    np.testing.assert_array_equal(small.test, whole.test)
    assert small.counts["test_with_near_twin_in_train"] == 0


def test_the_official_split_leaves_near_twins_out_of_training(data):
    usage = np.full(len(data), Usage.TRAINING, np.int8)
    usage[-60:-30], usage[-30:] = Usage.PUBLIC_TEST, Usage.PRIVATE_TEST
    split = make_split(replace(data, usage=usage), "official", duplicates="near")
    assert split.train.tolist() == list(range(60, 90))
    assert [len(split.val), len(split.test)] == [30, 30]


def test_drawn_faces_keep_their_split_and_are_looked_at_on_request_only(monkeypatch):
    faces = FERDataModule(source="drawn", drawn=Drawn(size=70))
    before = make_split(faces.image_set, duplicates="group")
    with monkeypatch.context() as patched:
        patched.setattr(cache, "find_twins", lambda images: pytest.fail("searched"))
        assert faces.duplicates == faces.split.duplicates == "group"
        for part in ("train", "val", "test"):
            np.testing.assert_array_equal(getattr(faces.split, part), getattr(before, part))
        assert FERDataModule(source="defects", defects=Defects(size=6)).twins is None
    asked = FERDataModule(source="drawn", drawn=Drawn(size=70), duplicates="near")
    assert asked.split.duplicates == "near"


def test_the_default_for_files(folder, data):
    found = FERDataModule(str(folder))
    assert found.duplicates == found.split.duplicates == "near"
    assert len(found.twins.pairs) == 60
    assert "to keep copies and near-twins together; 0 val and 0 test" in found.describe()
    assert "0 val and 0 test images a twin or near-twin" in found.describe()
    group = FERDataModule(str(folder), duplicates="group")
    count = group.split.counts["test_with_near_twin_in_train"]
    assert count > 0
    assert f"{count} test images a twin or near-twin" in group.describe()


def test_colour_and_large_pictures_are_kept_together_by_copies():
    colour = np.random.default_rng(0).integers(0, 256, (70, 3, 32, 32), np.uint8)
    faces = image_set(colour)
    assert FERDataModule.of(faces).split.duplicates == "group"
    with pytest.raises(UserError, match="but got colour ones of 32x32"):
        _ = FERDataModule.of(faces, duplicates="near").split


def test_a_cue_hides_no_twin(folder):
    plain = FERDataModule(str(folder))
    planted = FERDataModule(str(folder), cue=Cue("background"))
    assert (planted.image_set.images != plain.image_set.images).any()
    np.testing.assert_array_equal(planted.split.train, plain.split.train)


def test_twins_are_sought_once(folder, monkeypatch):
    first = FERDataModule(str(folder)).twins
    monkeypatch.setattr(cache, "find_twins", lambda images: pytest.fail("searched again"))
    again = FERDataModule(str(folder), split_seed=1).twins
    for name in ("copies", "pairs", "correlation", "mirrored", "groups"):
        before, after = getattr(first, name), getattr(again, name)
        np.testing.assert_array_equal(before, after)
        assert before.dtype == after.dtype


@pytest.mark.parametrize("damage", ["cut", "changed", "no array", "other images"])
def test_damaged_twins_are_sought_anew_and_said(folder, data, damage, tmp_path):
    place = tmp_path / "kept"
    first = twins_of(data, cache_dir=place)
    (kept,) = place.glob("twins-*.npy")
    content = kept.read_bytes()
    if damage == "cut":
        kept.write_bytes(content[:-8])
    elif damage == "changed":
        kept.write_bytes(content[:-800] + b"\1" + content[-799:])
    elif damage == "no array":
        kept.write_bytes(b"\x80\x04.")
    else:
        fewer = replace(data.subset(np.arange(70)), known_fingerprint="f")
        twins_of(fewer, cache_dir=place)
        shutil.copy(place / f"twins-f-{twins.VERSION}.{cache.CACHE_VERSION}.npy", kept)
    with pytest.warns(UserWarning, match="damaged and will be sought anew"):
        again = twins_of(data, cache_dir=place)
    np.testing.assert_array_equal(first.groups, again.groups)
    assert kept.read_bytes() == content


def test_where_nothing_can_be_written_it_is_said(data, tmp_path):
    (tmp_path / "file").touch()
    with pytest.warns(UserWarning, match="could not be kept"):
        twins_of(data, cache_dir=tmp_path / "file" / "below")


@pytest.mark.real_data
def test_fer2013_holds_photographs_more_than_once():
    if not os.environ.get("FER2013"):
        pytest.skip("set FER2013 to the path of the data set")
    faces = load(os.environ["FER2013"])
    found = twins_of(faces, os.environ["FER2013"])
    group = make_split(faces, duplicates="group", twins=found)
    assert len(group.test) == 3633
    assert 440 <= len(group.near_twins) <= 510  # 476 were measured
    near = make_split(faces, duplicates="near", twins=found)
    assert len(near.near_twins) <= 25, "pairs between groups that are not alike"  # 15
    assert 4400 <= len(found.pairs) <= 4700  # 4,562
    assert np.bincount(found.groups).max() <= 30  # 25


def test_a_long_search_is_announced_once(monkeypatch, tmp_path):
    told, faces = [], drawn_faces(20, with_masks=False)
    twins_of(faces, cache_dir=tmp_path / "few", say=told.append)
    assert told == []
    monkeypatch.setattr("fer_lightning.data.cache.MANY", 20)
    for _ in range(2):  # the second opens what the first kept
        twins_of(faces, cache_dir=tmp_path / "many", say=told.append)
    assert told == ["Looking for near-twins among 20 pictures, once; this may take minutes."]
