import cv2
import numpy as np
import pytest
import torch

from fer_lightning.errors import UserError
from fer_lightning.look.controls.hiding import blur, central_patch, hide, random_patches


@pytest.mark.parametrize("area", [1, 7, 100, 747, 2304])
def test_patches_have_exactly_the_area(area):
    wanted = torch.tensor([area] * 4)
    assert central_patch(wanted, (48, 48)).sum((1, 2)).tolist() == [area] * 4
    for pieces in (1, 3):
        patches = random_patches(wanted, (48, 48), pieces, seed=area)
        assert patches.sum((1, 2)).tolist() == [area] * 4


def test_each_image_has_its_own_area():
    wanted = torch.tensor([5, 50, 500])
    assert random_patches(wanted, (48, 48), 3, seed=0).sum((1, 2)).tolist() == [5, 50, 500]


def test_the_central_patch_is_a_centred_square():
    patch = central_patch(torch.tensor([16]), (8, 10))[0]
    expected = torch.zeros(8, 10, dtype=torch.bool)
    expected[2:6, 3:7] = True
    torch.testing.assert_close(patch, expected)


def test_one_random_piece_is_a_square_inside_the_picture():
    patches = random_patches(torch.full((200,), 25), (48, 48), 1, seed=0)
    inner = patches[~(patches[:, 0].any(1) | patches[:, -1].any(1))]
    inner = inner[~(inner[:, :, 0].any(1) | inner[:, :, -1].any(1))]
    assert len(inner) > 100
    height, width = inner.any(2).sum(1), inner.any(1).sum(1)
    # 25 nearest in the larger of dy and dx: a 5x5 square, or 6 wide with corners left out
    assert set(height.tolist()) | set(width.tolist()) <= {5, 6}


def test_random_patches_are_seeded_and_differ_between_images():
    area = torch.full((3,), 300)
    first = random_patches(area, (48, 48), 3, seed=1)
    torch.testing.assert_close(first, random_patches(area, (48, 48), 3, seed=1))
    assert not torch.equal(first, random_patches(area, (48, 48), 3, seed=2))
    assert not torch.equal(first[0], first[1])


def test_random_patches_prefer_no_place():
    often = random_patches(torch.full((2000,), 576), (48, 48), 3, seed=0).double().mean(0)
    # a quarter of the picture: binomial(2000, 0.25) has a standard deviation of 0.0097
    assert often.min() > 0.25 - 5 * 0.0097
    assert often.max() < 0.25 + 5 * 0.0097


def test_mean_fill_keeps_the_rest_and_channels_apart():
    images = torch.rand(2, 3, 6, 6)
    hidden = torch.zeros(2, 6, 6, dtype=torch.bool)
    hidden[0, :3] = True
    result = hide(images, hidden, "mean")
    torch.testing.assert_close(result[1], images[1])
    torch.testing.assert_close(result[0, :, 3:], images[0, :, 3:])
    for channel in range(3):
        mean = images[0, channel].mean()
        torch.testing.assert_close(result[0, channel, :3], mean.expand(3, 6))


def test_blur_is_opencvs():
    images = torch.rand(2, 1, 48, 48, generator=torch.Generator().manual_seed(0))
    ours = blur(images)
    for i in range(2):
        expected = cv2.GaussianBlur(
            images[i, 0].numpy(), (37, 37), 6.0, borderType=cv2.BORDER_REFLECT_101
        )
        np.testing.assert_allclose(ours[i, 0].numpy(), expected, atol=1e-5)


def test_blur_keeps_a_flat_picture_and_any_shape():
    flat = torch.full((1, 3, 5, 9), 0.4)
    torch.testing.assert_close(blur(flat), flat)


def test_blurred_fill_is_used_only_where_hidden():
    images = torch.rand(1, 1, 12, 12)
    hidden = torch.zeros(1, 12, 12, dtype=torch.bool)
    hidden[0, :, :5] = True
    result = hide(images, hidden, "blur")
    torch.testing.assert_close(result[..., :5], blur(images)[..., :5])
    torch.testing.assert_close(result[..., 5:], images[..., 5:])


def test_an_unknown_fill():
    with pytest.raises(UserError, match="fill 'mean' or 'blur' but got 'black'"):
        hide(torch.rand(1, 1, 2, 2), torch.zeros(1, 2, 2, dtype=torch.bool), "black")
