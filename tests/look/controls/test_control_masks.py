import cv2
import numpy as np
import pytest
import torch

from fer_lightning.errors import UserError
from fer_lightning.look.controls.masks import (
    derangement,
    dilate,
    erode,
    margin,
    same_area,
    shuffle,
    variants,
)


def disk(radius):
    offset = np.arange(-radius, radius + 1)
    return (offset**2 + offset[:, None] ** 2 <= radius**2).astype(np.uint8)


@pytest.fixture
def blobs():
    return torch.rand(3, 2, 20, 24, generator=torch.Generator().manual_seed(0)) > 0.7


@pytest.mark.parametrize("radius", [1, 2, 5])
def test_as_opencv_does_it(blobs, radius):
    for ours, theirs in ((dilate, cv2.dilate), (erode, cv2.erode)):
        changed = ours(blobs, radius)
        for i in range(3):
            for r in range(2):
                expected = theirs(blobs[i, r].numpy().astype(np.uint8), disk(radius))
                np.testing.assert_array_equal(changed[i, r].numpy(), expected)


def test_a_dot_becomes_a_disk_and_a_disk_a_dot():
    dot = torch.zeros(9, 9, dtype=torch.bool)
    dot[4, 4] = True
    grown = dilate(dot, 2)
    assert grown.sum() == 13  # pixels at a distance of at most 2
    assert not grown[2, 3]  # sqrt(5) away
    torch.testing.assert_close(erode(grown, 2), dot)


def test_two_pixels_at_48_scale():
    assert margin((48, 48)) == 2
    assert margin((96, 224)) == 4
    assert margin((112, 112)) == 5  # 4.67


@pytest.mark.parametrize("n", [2, 3, 200])
def test_derangement_leaves_nothing_in_its_place(n):
    for seed in range(20):
        order = derangement(n, seed)
        assert sorted(order.tolist()) == list(range(n))
        assert (order != torch.arange(n)).all()


def test_derangement_depends_on_the_seed():
    assert derangement(50, 1).tolist() == derangement(50, 1).tolist()
    assert derangement(50, 1).tolist() != derangement(50, 2).tolist()


def test_one_image_cannot_exchange_its_masks():
    with pytest.raises(UserError, match="at least 2 images"):
        derangement(1, 0)


def test_shuffled_masks_are_whole_sets_of_other_images(blobs):
    order = derangement(3, seed=5)
    torch.testing.assert_close(shuffle(blobs, seed=5), blobs[order])


def test_variants_of_different_masks(blobs):
    found = variants(blobs, seed=0)
    assert list(found) == ["given", "dilated", "eroded", "shuffled"]
    assert (found["dilated"] | ~blobs).all()  # only added to
    assert (~found["eroded"] | blobs).all()  # only taken from


def test_shuffling_is_left_out_where_it_changes_nothing(blobs):
    assert "shuffled" not in variants(blobs[:1].repeat(4, 1, 1, 1), seed=0)
    assert "shuffled" not in variants(blobs[:1], seed=0)


def test_areas_are_matched_by_distance():
    mask = torch.zeros(1, 2, 12, 12, dtype=torch.bool)
    mask[0, 0, 5:7, 5:7] = True  # 4 pixels grow to 12: all that touch a side
    mask[0, 1, 2:10, 2:10] = True  # 64 pixels shrink to 36: a ring is taken away
    found = same_area(mask, torch.tensor([12, 36]))
    assert found.sum((2, 3)).tolist() == [[12, 36]]
    torch.testing.assert_close(found[:, 0], dilate(mask[:, 0], 1))
    torch.testing.assert_close(found[:, 1], erode(mask[:, 1], 1))
    empty = torch.zeros(1, 1, 4, 4, dtype=torch.bool)
    assert not same_area(empty, torch.tensor([3])).any()


def test_variants_beside_a_template(blobs):
    template = blobs[0].roll(1, dims=-1)
    found = variants(blobs, seed=0, template=template)
    assert list(found)[:3] == ["given", "template", "area_matched"]
    assert (found["template"] == template).all()
    areas = found["area_matched"].flatten(2).sum(2)
    there = blobs.flatten(2).any(2)
    assert (areas == template.flatten(1).sum(1))[there].all()
