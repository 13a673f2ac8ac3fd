"""Gradient, integrated gradients, SmoothGrad and occlusion: known answers on hand-made models."""

import pytest
import torch
from torch import nn

from fer_lightning.errors import UserError
from fer_lightning.look.methods.gradient import input_gradient_map
from fer_lightning.look.methods.integrated_gradients import (
    completeness_miss,
    incomplete,
    integrated_gradients,
    signed_shares,
)
from fer_lightning.look.methods.occlusion import occlusion_map, window_masks
from fer_lightning.look.methods.smooth_grad import smooth_grad
from fer_lightning.models import CNN, VisionModel, ViT

METHODS = [
    input_gradient_map,
    lambda *args, **kwargs: integrated_gradients(*args, steps=4, **kwargs),
    lambda *args, **kwargs: smooth_grad(*args, samples=4, **kwargs),
    lambda *args, **kwargs: occlusion_map(*args, window=24, **kwargs),
]
IMAGES = torch.rand(3, 1, 48, 48, generator=torch.Generator().manual_seed(0))


class OnPixels(VisionModel):
    """Class 0 is a function of the pixels, class 1 its negative, class 2 always 0."""

    def __init__(self, num_classes=3, in_chans=1, image_size=4, function=None):
        super().__init__()
        self.function, self.head = function, nn.Identity()
        self.batches = []

    def features(self, x):
        self.batches.append(len(x))
        score = self.function(x)
        return torch.stack([score, -score, 0 * score], dim=1)

    @property
    def cam_layer(self):
        return self.head

    def to_grid(self, activation):
        return activation


def linear(weight):
    return OnPixels(function=lambda x: (x * weight).sum((1, 2, 3)))


def squares():
    return OnPixels(function=lambda x: x.square().sum((1, 2, 3)))


def test_gradient_by_hand():
    """Of a linear model the weights' size, of squares twice the pixel, of a colour their sum."""
    weight = torch.tensor([[[1.0, -2.0], [0.0, 3.0]]])
    image = torch.tensor([[[[0.5, 0.5], [1.0, 0.25]]]])
    assert torch.equal(input_gradient_map(linear(weight), image, 0), weight.abs())
    assert torch.equal(input_gradient_map(squares(), image, 1), 2 * image[:, 0])
    assert not input_gradient_map(squares(), image, 2).any()  # class 2 is always 0
    colours = torch.tensor([1.0, -2.0, 4.0]).view(3, 1, 1)
    heat = input_gradient_map(linear(colours), torch.ones(1, 3, 2, 2), 0)
    assert torch.equal(heat, torch.full((1, 2, 2), 7.0))


def test_gradient_takes_one_pass_for_a_batch():
    model = squares()
    input_gradient_map(model, torch.rand(5, 1, 4, 4), batch_size=2)
    assert model.batches == [2, 2, 1]


def test_integrated_gradients_of_a_linear_model():
    weight = torch.tensor([[[1.0, -2.0], [0.0, 3.0]]])
    image = torch.tensor([[[[0.5, 0.5], [1.0, 1.0]]]])
    shares = signed_shares(linear(weight), image, target=0, baseline=0.0, steps=1)
    assert torch.allclose(shares[0], weight * image[0])
    heat = integrated_gradients(linear(weight), image, target=1, baseline=0.25, steps=3)
    assert torch.allclose(heat, (weight * (image[0] - 0.25)).abs())


def test_integrated_gradients_of_squares():
    """The integral of 2x along the way is exact with midpoints: shares are x² - b²."""
    image = torch.tensor([[[[0.0, 0.5], [0.5, 1.0]]]])  # mean 0.5
    for baseline in (0.5, "mean"):
        shares = signed_shares(squares(), image, 0, baseline, steps=5)
        assert torch.allclose(shares, image.square() - 0.25, atol=1e-6)


def test_colours_are_added_up():
    weight = torch.tensor([1.0, -2.0, 4.0]).view(3, 1, 1)
    heat = integrated_gradients(linear(weight), torch.ones(1, 3, 2, 2), 0, baseline=0.0, steps=1)
    assert torch.allclose(heat, torch.full((1, 2, 2), 7.0))


@pytest.mark.parametrize("kind", [CNN, ViT])
def test_shares_add_up_to_the_logits_difference(kind):
    torch.manual_seed(0)
    model = kind().eval()
    shares = signed_shares(model, IMAGES, target=3, baseline=0.5, steps=32)
    with torch.no_grad():
        difference = (model(IMAGES) - model(torch.full_like(IMAGES, 0.5)))[:, 3]
    assert torch.allclose(shares.sum((1, 2, 3)), difference, rtol=0.05, atol=1e-4)


def test_hard_selection_breaks_completeness_and_it_is_said():
    """A step between image and baseline has no gradient: the shares miss all of it."""
    jumping = OnPixels(function=lambda x: (x.amax((1, 2, 3)) > 0.8).float() + 0 * x.sum((1, 2, 3)))
    image = torch.zeros(2, 1, 4, 4)
    image[:, :, 0, 0] = 1.0  # its mean is dark, so the step lies on the way
    assert completeness_miss(jumping, image, 0).tolist() == [1.0, 1.0]
    assert "but they miss it by 100% (median of 2 images)" in incomplete(jumping, image)
    assert incomplete(squares(), image) is None
    torch.manual_seed(0)
    assert incomplete(CNN(), IMAGES) is None


def test_smooth_grad_averages_the_gradient_over_noise():
    image = torch.zeros(1, 1, 2, 2)
    assert torch.allclose(smooth_grad(squares(), image + 0.5, 0, noise=0.0), torch.ones(1, 2, 2))
    # at 0 the gradient is twice the noise, whose mean goes to zero
    rough = smooth_grad(squares(), image, 0, noise=0.5, samples=1)
    smooth = smooth_grad(squares(), image, 0, noise=0.5, samples=4096)
    assert rough.max() > 0.1
    assert smooth.max() < 0.1
    assert torch.equal(rough, smooth_grad(squares(), image, 0, noise=0.5, samples=1))
    assert not torch.equal(rough, smooth_grad(squares(), image, 0, noise=0.5, samples=1, seed=1))


def test_occlusion_by_hand():
    weight = torch.tensor([[[1.0, 0.0], [-2.0, 3.0]]])
    image = torch.ones(1, 1, 2, 2)
    heat = occlusion_map(linear(weight), image, target=0, window=1, fill=0.0)
    assert torch.allclose(heat, weight.relu())  # hiding the -2 raises the logit
    against = occlusion_map(linear(weight), image, target=1, window=1, fill=0.0)
    assert torch.allclose(against, (-weight).relu())
    # hidden by its own mean, an even image does not change
    assert not occlusion_map(linear(weight), image, target=0, window=1).any()


def test_overlapping_windows_are_averaged():
    weight = torch.tensor([[[6.0, 0.0, 0.0]]])
    heat = occlusion_map(linear(weight), torch.ones(1, 1, 3, 3), 0, window=2, stride=1, fill=0.0)
    # windows over columns (0, 1) cost 12, those over (1, 2) nothing: rows alike
    assert torch.allclose(heat, torch.tensor([12.0, 6.0, 0.0]).expand(1, 3, 3))


@pytest.mark.parametrize(
    ("length", "window", "stride"), [(48, 8, 4), (10, 4, 3), (7, 7, 7), (5, 3, 2)]
)
def test_windows_cover_every_pixel_and_stay_inside(length, window, stride):
    masks = window_masks(length, length + 2, window, stride)
    assert masks.sum(0).min() >= 1
    assert (masks.sum((1, 2)) == window**2).all()


@pytest.mark.parametrize("method", METHODS)
def test_evidence_in_one_corner(method):
    weight = torch.zeros(1, 48, 48)
    weight[:, :20, -20:] = 1  # top right
    heat = method(linear(weight), IMAGES, 0)
    assert heat.shape == (3, 48, 48)
    assert (heat >= 0).all()
    assert heat[:, :20, -20:].sum() > 0
    assert heat[:, 24:, :24].sum() == 0


@pytest.mark.parametrize("method", METHODS)
def test_batches_change_nothing_and_classes_are_respected(method):
    torch.manual_seed(0)
    model = ViT(depth=1)
    together = method(model, IMAGES, batch_size=256)
    assert torch.allclose(together, method(model, IMAGES, batch_size=1), atol=1e-5)
    predicted = model.eval()(IMAGES).argmax(1)
    assert torch.allclose(together, method(model, IMAGES, predicted), atol=1e-6)
    other = method(model, IMAGES, (predicted + 1) % 7)
    assert not torch.allclose(together, other, atol=1e-5)


def test_the_whole_batch_goes_through_at_once():
    model = squares()
    integrated_gradients(model, torch.rand(4, 1, 4, 4), 0, steps=8, batch_size=16)
    assert model.batches == [2, 16, 2, 16]  # the class, then all steps of two images


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("around", [torch.no_grad, torch.inference_mode, torch.enable_grad])
def test_the_model_is_as_it_was(method, around):
    torch.manual_seed(0)
    model = CNN()
    state = {key: value.clone() for key, value in model.state_dict().items()}
    random = torch.random.get_rng_state()
    with around():
        heat = method(model, IMAGES + 0)
    assert torch.equal(random, torch.random.get_rng_state())
    assert not heat.requires_grad
    assert all(module.training for module in model.modules())
    assert all(p.requires_grad and p.grad is None for p in model.parameters())
    assert all(torch.equal(value, state[key]) for key, value in model.state_dict().items())


def test_bad_numbers():
    with pytest.raises(UserError, match="at least one step but got 0"):
        integrated_gradients(CNN(), IMAGES, steps=0)
    with pytest.raises(UserError, match="one sample and no negative noise but got 4 and -1"):
        smooth_grad(CNN(), IMAGES, samples=4, noise=-1)
    with pytest.raises(UserError, match=r"1 to 48 pixels and a stride .* got 49 and 24"):
        occlusion_map(CNN(), IMAGES, window=49)
    with pytest.raises(UserError, match="got 8 and 9; a larger stride would leave pixels out"):
        occlusion_map(CNN(), IMAGES, window=8, stride=9)


@pytest.mark.parametrize("method", METHODS)
def test_bad_images_and_targets(method):
    with pytest.raises(UserError, match="float images"):
        method(CNN(), IMAGES[0])
    with pytest.raises(UserError, match="classes from 0 to 6 but got 7"):
        method(CNN(), IMAGES, 7)
