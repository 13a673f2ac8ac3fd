"""What Grad-CAM refuses, and what it does where a model has nothing to show."""

import pytest
import torch
from torch import nn

from fer_lightning.errors import UserError
from fer_lightning.look.heat import is_zero
from fer_lightning.look.methods.grad_cam import grad_cam
from fer_lightning.models import CNN, Timm, ViT

IMAGES = torch.rand(2, 1, 48, 48, generator=torch.Generator().manual_seed(0))


class AfterLastAttention(Timm):
    """Reads the final norm, whose patches nothing follows."""

    @property
    def cam_layer(self):
        return self.backbone.norm


class AfterLastBlock(ViT):
    """Reads the last block, of which only [CLS] is computed."""

    @property
    def cam_layer(self):
        return self.blocks[-1]


class Beside(CNN):
    """Reads a layer that the forward pass calls without using it, or not at all."""

    def __init__(self, num_classes=7, in_chans=1, image_size=48, called=True, output=None):
        super().__init__(num_classes, in_chans, image_size)
        self.beside, self.called, self.output = nn.Identity(), called, output

    def features(self, x):
        if self.called:
            self.beside(x if self.output is None else self.output)
        return super().features(x)

    @property
    def cam_layer(self):
        return self.beside


def test_a_layer_with_a_zero_gradient_at_every_place():
    model = AfterLastAttention(name="vit_tiny_patch16_224")
    with pytest.raises(UserError, match=r"backbone\.norm, but got a zero gradient at each of"):
        grad_cam(model, IMAGES)


def test_a_layer_without_places():
    with pytest.raises(UserError, match=r"blocks\.3, that to_grid can lay out but got shape"):
        grad_cam(AfterLastBlock(), IMAGES)


def test_a_layer_that_the_logits_ignore():
    with pytest.raises(UserError, match="a zero gradient at beside; use another cam_layer"):
        grad_cam(Beside(), IMAGES)


def test_a_layer_that_is_not_called():
    with pytest.raises(UserError, match="but beside was not called"):
        grad_cam(Beside(called=False), IMAGES)


def test_a_layer_that_returns_no_tensor():
    with pytest.raises(UserError, match="return a tensor but got tuple"):
        grad_cam(Beside(output=(1, 2)), IMAGES)


def test_a_model_that_ignores_its_images_has_zero_maps_and_is_no_error():
    """As after a collapse to one class, or with a head that starts at zero."""
    model = CNN()
    nn.init.zeros_(model.head.weight)
    assert is_zero(grad_cam(model, IMAGES).signed).all()
    model = CNN()
    nn.init.constant_(model.feature_layer[1].bias, -1e6)  # dead ReLUs
    assert is_zero(grad_cam(model, IMAGES).signed).all()


@pytest.mark.parametrize(
    ("images", "found"),
    [
        (torch.zeros(2, 1, 48, 48, dtype=torch.uint8), "torch.uint8"),
        (torch.zeros(1, 48, 48), r"\(1, 48, 48\)"),
        (torch.zeros(0, 1, 48, 48), r"\(0, 1, 48, 48\)"),
    ],
)
def test_images_of_another_kind(images, found):
    with pytest.raises(UserError, match=f"float images in .* but got .*{found}"):
        grad_cam(CNN(), images)


@pytest.mark.parametrize(
    ("target", "message"),
    [
        (7, "classes from 0 to 6 but got 7"),
        (-1, "classes from 0 to 6 but got -1"),
        (torch.tensor([0, 9]), "classes from 0 to 6 but got 9"),
        (torch.tensor([0]), r"each of 2 images but got torch.int64 of shape \(1,\)"),
        (torch.tensor([0.0, 1.0]), "one integer class .* but got torch.float32"),
        ([0, 1], "but got list; convert it by torch.tensor"),
        (True, "but got bool"),
    ],
)
def test_targets_of_another_kind(target, message):
    with pytest.raises(UserError, match=message):
        grad_cam(CNN(), IMAGES, target)


def test_an_unknown_method():
    with pytest.raises(UserError, match="got 'hirescam'; did you mean 'hires_cam'"):
        grad_cam(CNN(), IMAGES, method="hirescam")


def test_a_module_that_is_no_model():
    with pytest.raises(UserError, match="expected a VisionModel but got Linear"):
        grad_cam(nn.Linear(1, 1), IMAGES)
