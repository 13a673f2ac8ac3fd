import math

import numpy as np
import pytest
import torch

from fer_lightning.data.faces import drawn_faces
from fer_lightning.data.masks import region_masks
from fer_lightning.errors import UserError
from fer_lightning.models import CNN, ViT
from fer_lightning.training.losses.attention_regulariser import (
    AttentionRegulariser,
    attention_to_regions,
    guided_maps,
    signed_cam,
)


def test_the_loss_by_hand():
    maps = torch.tensor([[[3.0, 1.0], [0.0, 0.0]], [[1.0, 1.0], [1.0, 1.0]]])
    masks = torch.zeros(2, 4, 4)  # twice as fine as the maps
    masks[0, :2, :2] = 1  # the whole first place: a share of 3/4
    masks[1, 0, 0] = 1  # a quarter of one of four places: a share of 1/16
    expected = (math.log(4 / 3) + math.log(16)) / 2
    assert attention_to_regions(maps, masks).item() == pytest.approx(expected)
    assert attention_to_regions(7 * maps, masks).item() == pytest.approx(expected)


def test_maps_without_heat_are_left_out_and_maps_beside_the_region_stay_finite():
    maps = torch.zeros(3, 2, 2)
    maps[0, 0, 0] = 1  # all inside
    maps[1, 1, 1] = 1  # all outside
    maps.requires_grad_()
    mask = torch.tensor([[1.0, 0.0], [0.0, 0.0]]).expand(3, 2, 2)
    loss = attention_to_regions(maps, mask)
    assert loss.item() == pytest.approx(-math.log(1e-6) / 2, rel=1e-5)
    loss.backward()
    assert maps.grad.isfinite().all()
    assert not maps.grad[2].any()
    assert attention_to_regions(torch.zeros(2, 2, 2), mask[:2]).item() == 0


@pytest.mark.parametrize("net", [ViT(dim=16, depth=2, heads=2), CNN()], ids=["vit", "cnn"])
def test_gradient_of_the_cam_term_is_the_slope_of_the_term(net):
    """Second derivatives, against finite differences in double precision."""
    net = net.double().eval()
    images, label = torch.rand(2, 1, 48, 48, dtype=torch.double), torch.tensor([1, 4])

    def term():
        return signed_cam(net, images, label)[1]

    inside = torch.zeros(term().shape[1:], dtype=torch.double)
    inside[1:4] = 1
    weight = net.cam_layer.weight if isinstance(net, ViT) else net.stages.conv4.weight
    (term() * inside).sum().backward()
    at = torch.unravel_index(weight.grad.abs().argmax(), weight.shape)
    slope, step = weight.grad[at].item(), 1e-6
    assert slope != 0
    with torch.no_grad():
        weight[at] += step
    above = (term() * inside).sum().item()
    with torch.no_grad():
        weight[at] -= 2 * step
    below = (term() * inside).sum().item()
    assert (above - below) / (2 * step) == pytest.approx(slope, rel=1e-3)
    assert not any(module._forward_hooks for module in net.modules())


def test_gradient_reaches_queries_and_keys_of_the_last_layer():
    net = ViT(dim=16, depth=2, heads=2)
    images, label = torch.rand(2, 1, 48, 48), torch.tensor([1, 4])
    mask = torch.zeros(2, 48, 48)
    mask[:, :24] = 1
    attention_to_regions(guided_maps(net, images, label, "attention")[1], mask).backward()
    queries, keys, values = net.layers[-1].attn.qkv.weight.grad.chunk(3)
    assert queries.any()
    assert keys.any()
    assert not values.any()  # what is read there cannot change where it is read
    assert net.head.weight.grad is None


@pytest.mark.parametrize("kind", ["attention", "cam"])
@pytest.mark.parametrize("pool", ["cls", "mean"])
def test_logits_are_those_of_the_model(kind, pool):
    net = ViT(dim=16, depth=2, heads=2, pool=pool)
    images, label = torch.rand(3, 1, 48, 48), torch.tensor([1, 4, 0])
    logits, maps = guided_maps(net, images, label, kind)
    torch.testing.assert_close(logits, net(images))
    assert maps.shape == (3, 8, 8)
    assert (maps >= 0).all()
    if kind == "attention" and pool == "cls":
        last = net.attention_maps(images)[-1]
        torch.testing.assert_close(maps.sum((1, 2)), 1 - last[:, :, 0, 0].mean(1))


@pytest.mark.parametrize("kind", ["attention", "cam"])
def test_the_term_alone_moves_the_map_into_the_masks(kind):
    torch.manual_seed(0)
    faces = drawn_faces(16)
    images = torch.from_numpy(faces.images).float() / 255
    label = torch.from_numpy(faces.labels)
    masks = torch.from_numpy(region_masks(faces, np.arange(16), "mouth"))
    net = ViT(dim=32, depth=2, heads=2)
    optimizer = torch.optim.Adam(net.parameters(), 3e-3)
    losses = []
    for _ in range(30):
        loss = attention_to_regions(guided_maps(net, images, label, kind)[1], masks)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    area = masks.float().mean().item()
    assert math.exp(-losses[0]) < 3 * area
    assert math.exp(-losses[-1]) > 2 * math.exp(-losses[0])


def test_a_frozen_model_has_a_cam_and_only_the_head_learns():
    net = CNN().requires_grad_(False)
    net.head.requires_grad_(True)
    _, maps = guided_maps(net, torch.rand(2, 1, 48, 48), torch.tensor([1, 4]), "cam")
    maps.sum().backward()
    assert net.head.weight.grad.any()


def test_schedules():
    constant = AttentionRegulariser(weight=0.4)
    assert [constant.weight_at(e, 10) for e in (0, 9)] == [0.4, 0.4]
    rising = AttentionRegulariser(weight=0.4, warmup_epochs=4)
    assert [rising.weight_at(e, 10) for e in (0, 1, 3, 4)] == pytest.approx([0.1, 0.2, 0.4, 0.4])
    falling = AttentionRegulariser(weight=0.4, schedule="cosine")
    assert [falling.weight_at(e, 10) for e in (0, 5, 10)] == pytest.approx([0.4, 0.2, 0])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"weight": -0.1}, "weight of at least 0 but got -0.1"),
        ({"weight": math.nan}, "weight of at least 0 but got nan"),
        ({"kind": "attn"}, "kind of the regulariser but got 'attn'"),
        ({"schedule": "cosin"}, "did you mean 'cosine'"),
        ({"warmup_epochs": -1}, "warmup_epochs of at least 0 but got -1"),
    ],
)
def test_impossible_regularisers(options, message):
    with pytest.raises(UserError, match=message):
        AttentionRegulariser(**options)
