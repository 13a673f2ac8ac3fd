"""Cells brought to the same images and seeds."""

import numpy as np
import pytest
from evidence_samples import cell

from fer_lightning.errors import UserError
from fer_lightning.hypotheses.evidence import Cell, align, by_key, missing_cells


def correct(one):
    return one.correct


def test_images_meet_by_their_id_in_any_order():
    a = Cell("cnn", 0.3, 1, np.array([7, 3, 5]), np.array([True, False, True]))
    b = Cell("vit", 0.3, 1, np.array([3, 5, 9]), np.array([True, False, False]))
    found = align(by_key([a, b]), [("cnn", 0.3), ("vit", 0.3)], [1], correct)
    np.testing.assert_array_equal(found.values[0], [[0, 1]])  # images 3 and 5
    np.testing.assert_array_equal(found.values[1], [[1, 0]])
    assert found.left_out == 2  # 7 and 9


def test_only_seeds_that_all_groups_have():
    cells = by_key([cell("cnn", seed=s) for s in (1, 2)] + [cell("vit", seed=s) for s in (2, 3)])
    found = align(cells, [("cnn", 0.3), ("vit", 0.3)], [1, 2, 3], correct)
    assert found.seeds == (2,)
    assert found.values[0].shape == (1, 2000)
    assert missing_cells(cells, [("cnn", 0.3), ("vit", 0.3)], [1, 2, 3]) == [
        "cnn-30pct-seed3",
        "vit-30pct-seed1",
    ]


def test_no_common_seed():
    cells = by_key([cell("cnn", seed=1), cell("vit", seed=2)])
    assert align(cells, [("cnn", 0.3), ("vit", 0.3)], [1, 2], correct) is None


def test_two_results_for_one_cell_are_refused():
    with pytest.raises(UserError, match="one result for cnn-30pct-seed42 but got two"):
        by_key([cell("cnn"), cell("cnn")])


def test_other_test_images_are_refused():
    cells = by_key([cell("cnn"), cell("vit", ids=np.arange(5000, 7000))])
    with pytest.raises(UserError, match="cnn and vit share none"):
        align(cells, [("cnn", 0.3), ("vit", 0.3)], [42], correct)
