import numpy as np
import pytest

from fer_lightning.data.splits import probe_rows
from fer_lightning.errors import UserError

ROWS = np.arange(1000, 4589)


def probe(rows=ROWS, n=200, seed=0, fingerprint="abc"):
    return probe_rows(rows, n, seed, fingerprint)


def test_n_different_rows_of_the_part_sorted():
    chosen = probe()
    assert len(chosen) == len(set(chosen)) == 200
    assert np.isin(chosen, ROWS).all()
    assert (np.diff(chosen) > 0).all()
    assert chosen.dtype == np.int64


def test_the_order_of_the_rows_does_not_matter():
    shuffled = np.random.default_rng(1).permutation(ROWS)
    np.testing.assert_array_equal(probe(shuffled), probe())


def test_seed_and_data_set_matter():
    assert not np.array_equal(probe(), probe(seed=1))
    assert not np.array_equal(probe(), probe(fingerprint="abd"))


def test_a_smaller_probe_lies_inside_a_larger_one():
    assert set(probe(n=200)) < set(probe(n=1000))


def test_a_part_without_some_images_keeps_the_others_of_its_probe():
    first = probe()
    fewer = np.setdiff1d(ROWS, first[:3])
    assert set(first[3:]) < set(probe(fewer))


def test_every_image_is_chosen_about_equally_often():
    rows = np.arange(50)
    counts = np.zeros(50)
    for seed in range(400):
        counts[probe(rows, 10, seed)] += 1
    # binomial(400, 0.2): mean 80, SD 8
    assert counts.min() > 80 - 4.5 * 8
    assert counts.max() < 80 + 4.5 * 8


def test_all_where_there_are_fewer():
    np.testing.assert_array_equal(probe(np.array([7, 2]), 200), [2, 7])


@pytest.mark.parametrize("rows", [[], [1, 1], [-1, 2], [[1, 2]]])
def test_rows_that_are_none(rows):
    with pytest.raises(UserError, match="expected different rows"):
        probe(np.array(rows, np.int64))


def test_no_image_wanted():
    with pytest.raises(UserError, match="at least 1 image but got 0"):
        probe(n=0)
