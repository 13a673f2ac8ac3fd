"""Logits and maps of one forward pass that a loss can be differentiated through."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel

from fer_lightning.lit.losses.attention_regulariser import Kind
from fer_lightning.models.base import VisionModel


def guided_maps(
    net: VisionModel, images: Tensor, label: Tensor, kind: Kind
) -> tuple[Tensor, Tensor]:
    """Return logits, (B, K), and non-negative maps at the model's own grid, (B, h, w).

    >>> from fer_lightning.models import ViT
    >>> images, label = torch.rand(2, 1, 48, 48), torch.tensor([3, 0])
    >>> [t.shape for t in guided_maps(ViT(), images, label, "cam")]
    [torch.Size([2, 7]), torch.Size([2, 8, 8])]
    """
    if kind == "attention":
        logits, layers = net.attend(images)
        return logits, cls_map(net, layers[-1])
    logits, signed = signed_cam(net, images, label)
    return logits, softened(signed)


def cls_map(net: VisionModel, attention: Tensor) -> Tensor:
    """Lay what [CLS] attends to over the image, averaged over heads, (B, h, w).

    Args:
        net: the model; without [CLS], the mean over all tokens' rows is taken.
        attention: (B, heads, N, N) of one layer.
    """
    rows = attention[:, :, 0] if net.num_prefix_tokens else attention.mean(2)  # B, heads, N
    return net.to_grid(rows.mean(1)[..., None])[:, 0]


def signed_cam(net: VisionModel, images: Tensor, label: Tensor) -> tuple[Tensor, Tensor]:
    """Return logits and the Grad-CAM of the given classes before ReLU, as part of the graph.

    The model stays in the mode it is in. With BatchNorm in training, an image's logit depends a
    little on the others' activations; that part of the gradient is in the map too.
    """
    # the fused attention kernels cannot be differentiated twice
    with sdpa_kernel(SDPBackend.MATH), watched(net.cam_layer) as outputs:
        logits = net.forward(images)
    activation = outputs[-1]
    score = logits.gather(1, label[:, None]).sum()
    (slope,) = torch.autograd.grad(score, activation, create_graph=True)
    weights = net.to_grid(slope).mean((2, 3))
    return logits, torch.einsum("bc,bchw->bhw", weights, net.to_grid(activation))


def softened(signed: Tensor) -> Tensor:
    """Return non-negative maps, (B, h, w), in units of each map's mean size.

    A smooth step takes the place of Grad-CAM's ReLU: places without heat, and maps without any,
    would get no gradient. Trained by this term alone on 16 drawn faces, with ReLU up to 12 maps
    became all zero; with this the share in the masks rose from 0.06 to 0.56 (ViT, learning rate
    3e-3) or 0.36 with 3 zero maps (5e-4), while a CNN kept 4 zero maps: better, not safe.

    >>> softened(torch.tensor([[[-2.0, 2.0]]])).tolist()[0][0] == F.softplus(
    ...     torch.tensor([-1.0, 1.0])).tolist()
    True
    """
    size = signed.detach().abs().mean((1, 2), keepdim=True)
    return F.softplus(signed / size.clamp(min=torch.finfo(size.dtype).tiny))


@contextmanager
def watched(layer: nn.Module) -> Iterator[list[Tensor]]:
    """Collect what a layer returns, as part of the graph.

    >>> layer = nn.Linear(2, 2)
    >>> with watched(layer) as outputs:
    ...     out = layer(torch.ones(1, 2)).relu_().sum()
    >>> torch.equal(outputs[0].relu().sum(), out), len(layer._forward_hooks)
    (True, 0)
    """
    outputs: list[Tensor] = []

    def keep(_module: nn.Module, _args: object, output: Tensor) -> Tensor:
        # behind frozen layers the graph starts here
        outputs.append(output if output.requires_grad else output.detach().requires_grad_())
        return outputs[-1].clone()  # what follows may work in place

    handle = layer.register_forward_hook(keep)
    try:
        yield outputs
    finally:
        handle.remove()


def check_kind(net: VisionModel, kind: Kind) -> None:
    """Ask the model for such maps once, so that one without any is refused before training.

    Raises:
        UserError: the model has no attention over the whole image, or no layer for Grad-CAM.
    """
    if kind == "cam":
        _ = net.cam_layer
        return
    size, chans = net.init_args["image_size"], net.init_args["in_chans"]
    modes = [(module, module.training) for module in net.modules()]
    net.eval()
    try:
        with torch.no_grad():
            net.attend(next(net.parameters()).new_zeros(1, chans, size, size))
    finally:
        for module, training in modes:
            module.training = training
