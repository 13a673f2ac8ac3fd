import math

import cv2
import numpy as np
import pytest
import torch
import torch.nn.functional as F

from fer_lightning.data.augment import (
    Augmentation,
    _grid,
    augment,
    augment_together,
    erase,
    random_affine,
    to_float,
    warp,
)
from fer_lightning.errors import UserError


def test_scaling():
    assert to_float(torch.tensor([0, 51, 255], dtype=torch.uint8)).tolist() == pytest.approx(
        [0, 0.2, 1]
    )


def test_nothing_to_do_returns_the_images():
    images = torch.rand(2, 1, 8, 8)
    assert augment(images, Augmentation(0, 0, 0)) is images


def test_flip_rate():
    affine = random_affine(4000, Augmentation(0.25, 0, 0), torch.device("cpu"))
    assert (affine[:, 0, 0] < 0).float().mean().item() == pytest.approx(0.25, abs=0.03)


def test_angles_and_shifts_fill_their_ranges():
    affine = random_affine(4000, Augmentation(0, 15, 0.1), torch.device("cpu"))
    angles = torch.rad2deg(torch.asin(affine[:, 1, 0]))
    assert angles.min() >= -15
    assert angles.max() <= 15
    assert angles.std().item() == pytest.approx(15 / math.sqrt(3), rel=0.05)  # uniform
    shifts = affine[:, :, 2] / 2
    assert shifts.abs().max() <= 0.1
    assert shifts.std().item() == pytest.approx(0.1 / math.sqrt(3), rel=0.05)


def test_rotation_equals_opencv():
    image = np.random.default_rng(0).random((48, 48)).astype(np.float32)
    image = cv2.GaussianBlur(image, (9, 9), 3)
    angle = math.radians(10)
    affine = torch.tensor(
        [[[math.cos(angle), -math.sin(angle), 0], [math.sin(angle), math.cos(angle), 0]]]
    )
    ours = warp(torch.from_numpy(image)[None, None], affine, Augmentation())[0, 0].numpy()
    matrix = cv2.getRotationMatrix2D((23.5, 23.5), 10, 1)
    theirs = cv2.warpAffine(image, matrix, (48, 48))
    np.testing.assert_allclose(ours[8:-8, 8:-8], theirs[8:-8, 8:-8], atol=2e-3)


def test_the_grid_is_torchs():
    affine = random_affine(5, Augmentation(), torch.device("cpu"))
    torch.testing.assert_close(
        _grid(affine, 6, 9), F.affine_grid(affine, [5, 1, 6, 9], align_corners=False)
    )


def test_translation_moves_by_pixels():
    image = torch.zeros(1, 1, 10, 10)
    image[0, 0, 5, 5] = 1
    shift = torch.tensor([[[1.0, 0, 2 * 0.2], [0, 1, 0]]])  # a fifth of the side to the left
    assert warp(image, shift, Augmentation())[0, 0].argmax().item() == 53


def test_crop_shifts_by_whole_pixels_like_padding_and_cutting():
    image = torch.rand(1, 3, 32, 32)
    how = Augmentation(flip=0, rotation=0, translation=0, crop=4)
    padded = F.pad(image, (4, 4, 4, 4))
    crops = {(y, x): padded[0, :, y : y + 32, x : x + 32] for y in range(9) for x in range(9)}
    seen = set()
    for cut in augment(image.expand(400, -1, -1, -1), how):
        near = [at for at, crop in crops.items() if torch.allclose(cut, crop, atol=1e-4)]
        assert len(near) == 1
        seen.add(near[0])
    assert {y for y, _ in seen} == {x for _, x in seen} == set(range(9))


def test_crop_and_translation_exclude_each_other():
    with pytest.raises(UserError, match=r"either translation or crop but got 0\.1 and 4"):
        Augmentation(crop=4)


def test_a_turned_and_flipped_transformation():
    affine = random_affine(50, Augmentation(1, 90, 0), torch.device("cpu"))
    cos, sin = affine[:, 1, 1], affine[:, 1, 0]
    torch.testing.assert_close(cos**2 + sin**2, torch.ones(50))
    torch.testing.assert_close(affine[:, 0, 0], -cos)
    torch.testing.assert_close(affine[:, 0, 1], sin)


def test_each_image_gets_its_own_and_the_generator_decides():
    images = torch.rand(1, 1, 16, 16).expand(8, -1, -1, -1)
    one = augment(images, Augmentation(), torch.Generator().manual_seed(1))
    two = augment(images, Augmentation(), torch.Generator().manual_seed(1))
    torch.testing.assert_close(one, two)
    assert (one[0] - one[1]).abs().max() > 0.01


@pytest.mark.parametrize(
    "options", [{"flip": 1.5}, {"rotation": -1}, {"translation": 2}, {"crop": -1}]
)
def test_impossible_parameters(options):
    with pytest.raises(UserError, match=r"expected (flip|rotation|translation|crop) between 0 and"):
        Augmentation(**options)


def test_erasing_paints_one_rectangle_with_the_mean_of_its_image():
    images = torch.rand(200, 1, 48, 48, generator=torch.Generator().manual_seed(0))
    erased = erase(images, 1.0, torch.Generator().manual_seed(1))
    for before, after in zip(images, erased, strict=True):
        changed = (before != after)[0]
        rows, columns = changed.any(1).nonzero()[:, 0], changed.any(0).nonzero()[:, 0]
        box = changed[rows.min() : rows.max() + 1, columns.min() : columns.max() + 1]
        assert box.all()
        assert 0.01 < box.numel() / changed.numel() < 0.23
        assert after[0][changed].unique().item() == pytest.approx(before.mean().item(), abs=1e-6)


def test_erasing_hits_as_many_images_as_asked_and_no_mask():
    images, masks = torch.rand(1000, 1, 16, 16), torch.rand(1000, 1, 16, 16)
    how = Augmentation(flip=0, rotation=0, translation=0, erase=0.25)
    assert how
    after, same = augment_together((images, masks), how, torch.Generator().manual_seed(0))
    assert same is masks
    assert 0.2 < (after != images).any(3).any(2).float().mean() < 0.3


def test_without_erasing_the_random_numbers_are_those_of_before():
    images = torch.rand(4, 1, 16, 16)
    first = augment(images, Augmentation(), torch.Generator().manual_seed(0))
    affine = random_affine(4, Augmentation(), images.device, torch.Generator().manual_seed(0), 16)
    assert first.equal(warp(images, affine, Augmentation()))


def test_the_scale_is_exact():
    bytes_ = torch.arange(256, dtype=torch.uint8)
    assert to_float(bytes_).dtype == torch.float32
    assert torch.equal(to_float(bytes_), bytes_.float().div_(255))
