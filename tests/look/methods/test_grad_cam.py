"""Grad-CAM and HiResCAM: hand-computed maps, a plain reference, classes, places, bad input."""

import copy

import pytest
import torch
from torch import nn

from fer_lightning.look.controls.null_maps import wake_zeros
from fer_lightning.look.methods.grad_cam import grad_cam
from fer_lightning.models import MODELS, VisionModel, build

FACES = {"num_classes": 7, "in_chans": 1, "image_size": 48}  # for models made for CIFAR-10
SMALL_112 = {"in_chans": 1, "image_size": 48, "keep_patches": 20, "units": (1, 1, 1), "dim": 32}
CASES = {
    "cnn": ("cnn", {}),
    "cnn-layer": ("cnn", {"pooling": "layer"}),
    "vit": ("vit", {}),
    "vit-mean": ("vit", {"pool": "mean", "depth": 2}),
    "swin": ("swin", {}),
    "vit_tiny": ("vit_tiny", FACES),
    "simple_cnn": ("simple_cnn", FACES),
    "small_resnet": ("small_resnet", FACES),
    "flagship": ("flagship", FACES),
    "hybrid_vit": ("hybrid_vit", {}),
    "apvit": ("apvit", {}),
    "apvit_112": ("apvit_112", SMALL_112),
    "timm": ("timm", {}),
    "timm-vit": ("timm", {"name": "test_vit"}),
    "timm-swin": ("timm", {"name": "swin_tiny_patch4_window7_224", "image_size": 64}),
}


class TwoChannels(VisionModel):
    """Channels x and 1 - x of a grey image; logits are sums over places, weighted by hand."""

    def __init__(self, num_classes=2, in_chans=1, image_size=2):
        super().__init__()
        self.layer = nn.Identity()
        self.head = nn.Identity()
        # class, channel, row, column
        self.weight = nn.Parameter(
            torch.tensor(
                [
                    [[[1.0, 0.0], [0.0, 3.0]], [[0.0, 0.0], [0.0, -4.0]]],
                    [[[0.0, 0.0], [0.0, 0.0]], [[0.0, 8.0], [0.0, 0.0]]],
                ]
            )
        )

    def features(self, x):
        maps = self.layer(torch.cat([x, 1 - x], dim=1))
        return torch.einsum("bchw,kchw->bk", maps, self.weight)

    @property
    def cam_layer(self):
        return self.layer

    def to_grid(self, activation):
        return activation


IMAGE = torch.tensor([[[[1.0, 0.5], [0.0, 0.25]]]])


def test_grad_cam_by_hand():
    cam = grad_cam(TwoChannels(), IMAGE, target=0)
    # alpha = mean gradient = (1+3)/4 = 1 for x, -4/4 = -1 for 1-x; map = x - (1 - x) = 2x - 1
    assert torch.equal(cam.signed, torch.tensor([[[1.0, 0.0], [-1.0, -0.5]]]))
    # class 0: 1*1 + 3*0.25 - 4*0.75 = -1.25; class 1: 8*0.5 = 4
    assert torch.equal(cam.logits, torch.tensor([[-1.25, 4.0]]))


def test_hires_cam_by_hand():
    cam = grad_cam(TwoChannels(), IMAGE, target=0, method="hires_cam")
    # x * gradient + (1 - x) * gradient: 1*1, 0, 0, 0.25*3 - 0.75*4
    assert torch.equal(cam.signed, torch.tensor([[[1.0, 0.0], [0.0, -2.25]]]))


def test_hires_cam_of_a_linear_head_adds_up_to_the_logit():
    images = torch.rand(3, 1, 2, 2)
    cam = grad_cam(TwoChannels(), images, target=1, method="hires_cam")
    assert torch.allclose(cam.signed.sum((1, 2)), cam.logits[:, 1])


def test_the_predicted_class_is_explained_unless_another_is_given():
    model = TwoChannels()
    images = torch.cat([IMAGE, torch.ones(1, 1, 2, 2)])  # logits (-1.25, 4) and (4, 0)
    predicted = grad_cam(model, images)
    assert predicted.target.tolist() == [1, 0]
    assert torch.equal(predicted.signed[0], grad_cam(model, images, 1).signed[0])
    assert torch.equal(predicted.signed[1], grad_cam(model, images, 0).signed[1])
    given = grad_cam(model, images, torch.tensor([0, 1], dtype=torch.uint8))
    assert given.target.tolist() == [0, 1]
    assert torch.equal(given.signed[0], grad_cam(model, images, 0).signed[0])


def reference(model, images, target, hires):
    """A full backward pass with hooks on a copy, image by image."""
    model = copy.deepcopy(model).eval()
    kept = {}

    def forward_hook(_module, _args, output):
        kept["activation"] = output
        output.register_hook(lambda gradient: kept.update(gradient=gradient))

    model.cam_layer.register_forward_hook(forward_hook)
    maps = []
    for image, k in zip(images, target.tolist(), strict=True):
        model.zero_grad()
        model.forward(image[None])[0, k].backward()
        activation = model.to_grid(kept["activation"])[0]
        gradient = model.to_grid(kept["gradient"])[0]
        if not hires:
            gradient = gradient.mean((1, 2), keepdim=True).expand_as(gradient)
        maps.append((gradient * activation).sum(0).detach())
    return torch.stack(maps)


@pytest.fixture(params=CASES, scope="module")
def model(request):
    name, arguments = CASES[request.param]
    torch.manual_seed(0)
    model = build(name, **arguments)
    wake_zeros(model)
    size = model.init_args["image_size"]
    with torch.no_grad():
        model.train()(torch.rand(16, 1, size, size))  # BatchNorm meets usual activations
    return model.eval()


@pytest.fixture(scope="module")
def images(model):
    size = model.init_args["image_size"]
    return torch.rand(3, 1, size, size, generator=torch.Generator().manual_seed(1))


def test_every_registered_model_is_tested():
    assert {name for name, _ in CASES.values()} == set(MODELS)


@pytest.mark.parametrize("method", ["grad_cam", "hires_cam"])
def test_equals_a_full_backward_pass(model, images, method):
    cam = grad_cam(model, images, method=method, batch_size=2)
    expected = reference(model, images, cam.target, method == "hires_cam")
    assert torch.equal(cam.target, model.forward(images).argmax(1))
    scale = expected.abs().max()
    assert scale > 0
    assert torch.allclose(cam.signed / scale, expected / scale, atol=1e-5)
    assert torch.allclose(cam.logits, model.forward(images), atol=1e-5)


def test_images_do_not_mix(model, images):
    together = grad_cam(model, images, 2).signed
    alone = grad_cam(model, images[1:2], 2).signed[0]
    assert torch.allclose(together[1], alone, atol=1e-5 * float(alone.abs().max()))
