import os

import numpy as np
import pytest

from fer_lightning.data.cache import load
from fer_lightning.data.image_set import ImageSet, Usage
from fer_lightning.data.splits import OPTIMISTIC, make_split
from fer_lightning.errors import UserError

CLASSES = ("sad", "happy")


def image_set(labels, usage=None, copies=()):
    """Distinct 2x2 images; `copies` lists (original, copy) pairs made identical."""
    n = len(labels)
    images = np.arange(n, dtype=np.uint32).view(np.uint8).reshape(n, 1, 2, 2).copy()
    for original, copy in copies:
        images[copy] = images[original]
    return ImageSet(
        name="toy",
        images=images,
        labels=np.asarray(labels, dtype=np.int64),
        usage=np.full(n, Usage.UNKNOWN, np.int8) if usage is None else np.asarray(usage, np.int8),
        classes=CLASSES,
        files=np.array([f"row {i}" for i in range(n)]),
    )


@pytest.fixture
def toy():
    return image_set([0] * 300 + [1] * 700)


def sides(split):
    return {part: set(getattr(split, part).tolist()) for part in ("train", "val", "test")}


def test_ratio_is_8_1_1_and_stratified(toy):
    split = make_split(toy)
    assert [len(split.train), len(split.val), len(split.test)] == [800, 100, 100]
    for rows in (split.train, split.val, split.test):
        assert np.mean(toy.labels[rows]) == pytest.approx(0.7)
    assert set.union(*sides(split).values()) == set(range(1000))


def test_fractions_are_nested_and_leave_the_rest_alone(toy):
    splits = [make_split(toy, fraction=f) for f in (0.3, 0.6, 1.0)]
    small, middle, whole = (set(s.train.tolist()) for s in splits)
    assert small < middle < whole
    assert [len(small), len(middle)] == [240, 480]
    assert np.mean(toy.labels[splits[0].train]) == pytest.approx(0.7, abs=0.005)
    for split in splits:
        np.testing.assert_array_equal(split.test, splits[0].test)
        np.testing.assert_array_equal(split.val, splits[0].val)


def test_train_size_takes_that_many_and_is_nested_with_fractions(toy):
    sized = make_split(toy, train_size=240)
    np.testing.assert_array_equal(sized.train, make_split(toy, fraction=0.3).train)


def test_the_split_depends_on_data_and_seed_only(toy):
    again = image_set(toy.labels)
    np.testing.assert_array_equal(make_split(toy).test, make_split(again).test)
    assert sides(make_split(toy, seed=1)) != sides(make_split(toy))
    other = image_set(1 - toy.labels)
    assert sides(make_split(other)) != sides(make_split(toy))


def test_only_twins_of_images_that_are_trained_on_leak():
    copies = [(i, i + 500) for i in range(0, 400)]
    data = image_set([0, 1] * 500, copies=copies)
    few = make_split(data, duplicates="keep", fraction=0.1)
    twin = dict(copies) | {b: a for a, b in copies}
    leaking = sum(twin.get(row) in set(few.train.tolist()) for row in few.test.tolist())
    assert few.counts["test_with_twin_in_train"] == len(few.leaking) == leaking
    assert {twin[row] for row in few.leaking.tolist()} <= set(few.train.tolist())
    assert 0 < leaking < make_split(data, duplicates="keep").counts["test_with_twin_in_train"]


def test_group_keeps_copies_on_one_side_and_keep_leaks():
    copies = [(i, i + 500) for i in range(0, 400)]
    data = image_set([0, 1] * 500, copies=copies)
    leaking = make_split(data, duplicates="keep")
    assert leaking.counts["test_with_twin_in_train"] > 20
    grouped = make_split(data, duplicates="group")
    assert grouped.counts["test_with_twin_in_train"] == 0
    assert grouped.counts["val_with_twin_in_train"] == 0
    for part in sides(grouped).values():
        for a, b in copies:
            assert (a in part) == (b in part)
    together = sides(leaking)
    apart = sum(1 for a, b in copies if not any({a, b} <= part for part in together.values()))
    assert grouped.counts["moved"] == apart


def test_drop_keeps_one_of_a_group_and_none_if_labels_conflict():
    data = image_set([0, 1] * 50, copies=[(0, 2), (1, 4)])  # (1, 4): labels 1 and 0
    split = make_split(data, duplicates="drop")
    kept = set.union(*sides(split).values())
    assert kept == set(range(100)) - {2, 1, 4}
    assert split.counts["dropped"] == 3


def test_official_follows_usage():
    usage = [Usage.TRAINING] * 60 + [Usage.PUBLIC_TEST] * 20 + [Usage.PRIVATE_TEST] * 20
    data = image_set([0, 1] * 50, usage, copies=[(0, 90), (1, 70), (5, 6)])
    kept = make_split(data, "official", duplicates="keep")
    assert sides(kept) == {
        "train": set(range(60)),
        "val": set(range(60, 80)),
        "test": set(range(80, 100)),
    }
    assert kept.counts["test_with_twin_in_train"] == 1
    grouped = make_split(data, "official", duplicates="group")
    assert sides(grouped)["train"] == set(range(60)) - {0, 1}
    assert grouped.counts["moved"] == 2
    assert sides(make_split(data, "official", duplicates="drop"))["test"] == set(range(80, 100))


def test_a_missing_official_part_is_carved_out_of_training():
    usage = [Usage.TRAINING] * 80 + [Usage.PRIVATE_TEST] * 20
    split = make_split(image_set([0, 1] * 50, usage), "official")
    assert [len(split.train), len(split.val), len(split.test)] == [72, 8, 20]
    assert "no validation part" in split.notes[0]


def test_train_test_keeps_all_of_training_and_says_that_the_best_epoch_is_optimistic():
    usage = [Usage.TRAINING] * 80 + [Usage.PRIVATE_TEST] * 20
    data = image_set([0, 1] * 50, usage, copies=[(0, 90)])
    split = make_split(data, "train_test", duplicates="keep")
    assert sides(split) == {
        "train": set(range(80)),
        "val": set(range(80, 100)),
        "test": set(range(80, 100)),
    }
    assert split.counts["val_with_twin_in_train"] == 1
    assert split.notes == (OPTIMISTIC,)
    assert sides(make_split(data, "train_test"))["train"] == set(range(1, 80))
    small = make_split(data, "train_test", train_size=10)
    assert np.bincount(data.labels[small.train]).tolist() == [5, 5]
    assert sides(small)["test"] == set(range(80, 100))


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ([Usage.TRAINING, Usage.PUBLIC_TEST, Usage.PRIVATE_TEST], "has a validation part; use"),
        ([Usage.TRAINING, Usage.UNKNOWN], "has no test part; use"),
        ([Usage.UNKNOWN], "names its training part"),
    ],
)
def test_train_test_of_a_source_with_other_parts(parts, message):
    usage = [parts[i % len(parts)] for i in range(60)]
    with pytest.raises(UserError, match=message):
        make_split(image_set([0, 1] * 30, usage), "train_test")


@pytest.mark.parametrize("fraction", [0, -0.1, 1.5, float("nan")])
def test_impossible_fraction(toy, fraction):
    with pytest.raises(UserError, match="expected a fraction above 0 and at most 1 but got"):
        make_split(toy, fraction=fraction)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"train_size": 0}, "train_size of at least 1"),
        ({"train_size": 801}, "at most 800 images but got 801"),
        ({"train_size": 10, "fraction": 0.5}, "either fraction or train_size"),
        ({"protocol": "official"}, "names its training part"),
    ],
)
def test_impossible_amounts(toy, options, message):
    with pytest.raises(UserError, match=message):
        make_split(toy, **options)


def test_a_class_that_vanishes_is_named():
    data = image_set([0] * 5 + [1] * 95)
    with pytest.raises(UserError, match="none of sad is left in 2 of 80"):
        make_split(data, fraction=0.02)


@pytest.fixture(scope="module")
def fer2013():
    path = os.environ.get("FER2013")
    if not path:
        pytest.skip("set FER2013 to the path of the data set")
    return load(path)


@pytest.mark.real_data
def test_a_random_split_of_fer2013_leaks_and_a_grouped_one_does_not(fer2013):
    leaking = make_split(fer2013, duplicates="keep")
    assert [len(leaking.train), len(leaking.val), len(leaking.test)] == [28_709, 3_589, 3_589]
    assert 240 <= leaking.counts["test_with_twin_in_train"] <= 330  # 255 to 312 were measured
    grouped = make_split(fer2013)
    assert grouped.counts["test_with_twin_in_train"] == 0
    assert grouped.counts["val_with_twin_in_train"] == 0


@pytest.mark.real_data
def test_the_official_split_of_fer2013(fer2013):
    kept = make_split(fer2013, "official", duplicates="keep")
    assert [len(kept.train), len(kept.val), len(kept.test)] == [28_709, 3_589, 3_589]
    assert kept.counts["val_with_twin_in_train"] == 280
    assert kept.counts["test_with_twin_in_train"] == 288
    grouped = make_split(fer2013, "official")
    assert grouped.counts["test_with_twin_in_train"] == 0
    assert [len(grouped.val), len(grouped.test)] == [3_589, 3_589]
