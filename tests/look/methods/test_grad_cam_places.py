"""Heat lies where the evidence is, for every registered model."""

import pytest
import torch

from fer_lightning.look.controls.null_maps import wake_zeros
from fer_lightning.look.heat import to_heat
from fer_lightning.look.methods.grad_cam import grad_cam
from fer_lightning.models import MODELS, VisionModel, build

FACES = {"num_classes": 7, "in_chans": 1, "image_size": 48}  # for models made for CIFAR-10
ALL = {"keep_patches": None, "keep_rate": 1.0}  # to compare maps of images, place by place
SMALL_112 = {  # the same network with less of everything
    "in_chans": 1,
    "image_size": 64,
    "units": (1, 1, 1),
    "dim": 32,
    "depth": 2,
}
CASES = {
    "cnn": {},
    "vit": {},
    "swin": {},
    "vit_tiny": FACES,
    "simple_cnn": FACES,
    "small_resnet": FACES,
    "flagship": FACES,
    "hybrid_vit": {},
    "apvit": ALL,
    "apvit_112": SMALL_112 | ALL,
    "timm": {"image_size": 160},  # a grid of 5x5
}


class Matched(VisionModel):
    """Wraps a model so that its one logit is what the places of `cam_layer` have of a pattern."""

    def __init__(self, net=None, pattern=None):
        super().__init__()
        self.net, self.pattern = net, pattern
        self.head = torch.nn.Identity()

    def grid(self, x):
        seen = []
        handle = self.cam_layer.register_forward_hook(lambda *args: seen.append(args[2]))
        self.net.features(x)
        handle.remove()
        return self.to_grid(seen[0])

    def features(self, x):
        return torch.einsum("bchw,c->b", self.grid(x), self.pattern)[:, None]

    @property
    def cam_layer(self):
        return self.net.cam_layer

    def to_grid(self, activation):
        return self.net.to_grid(activation)


def test_every_registered_model_is_tested():
    assert set(CASES) == set(MODELS)


@pytest.mark.parametrize("name", CASES)
def test_heat_lies_in_the_corner_that_holds_the_evidence(name):
    torch.manual_seed(0)
    net = build(name, **CASES[name])
    wake_zeros(net)
    size = net.init_args["image_size"]
    start, end = slice(0, size // 2), slice(size // 2, None)
    corners = [(start, end), (end, start)]  # top right, bottom left
    grey = torch.full((1, 1, size, size), 0.5)
    images, texture = grey.repeat(2, 1, 1, 1), torch.rand(size // 2, size // 2)
    for image, corner in zip(images, corners, strict=True):
        image[0][corner] = texture
    for module in getattr(net, "stem", torch.nn.Sequential()).modules():
        if isinstance(module, torch.nn.BatchNorm2d):
            module.momentum = 1.0  # a deep stack of half-true statistics would fade out
    with torch.no_grad():
        net.train()(torch.rand(16, 1, size, size))  # BatchNorm meets usual activations
        model = Matched(net.eval())
        change = model.grid(images) - model.grid(grey)
    # what changes where the change is large, whatever place that is
    size_of_change = change[0].norm(dim=0)
    model.pattern = ((size_of_change - size_of_change.mean()) * change[0]).sum((1, 2))
    # the map of grey is what the model sees everywhere; what is more is the texture
    evidence = grad_cam(model, images, 0).signed - grad_cam(model, grey, 0).signed
    heat = to_heat(evidence, size)
    for one, here, there in zip(heat, corners, corners[::-1], strict=True):
        assert one[here].mean() > 3 * one[there].mean()
        row, column = divmod(int(one.argmax()), size)
        assert (row < size / 2) == (here[0] is start)
        assert (column < size / 2) == (here[1] is start)
