import math

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from fer_lightning.data.batches import Batch
from fer_lightning.errors import UserError
from fer_lightning.models import CNN, Swin, Timm, ViT
from fer_lightning.training.losses import AdaptiveWeighting, AttentionRegulariser, Objective
from fer_lightning.training.losses.adaptive_weighting import (
    InstanceWeights,
    kl_to_uniform,
    squared_norm,
    weight_entropy,
)


def batch(size=4):
    torch.manual_seed(1)
    mask = torch.zeros(size, 48, 48)
    mask[:, :24] = 1
    label = torch.arange(size) % 7
    return Batch(torch.rand(size, 1, 48, 48), label, 10 + torch.arange(size), mask=mask)


def cross_entropy(batch):
    return lambda logits, **how: F.cross_entropy(logits, batch.label, **how)


def test_weights_by_hand():
    weights = InstanceWeights(2, AdaptiveWeighting(alpha=1.71, width=1))
    with torch.no_grad():
        weights.project.weight.copy_(torch.tensor([[1.0, 0.0]]))
        weights.score.weight.fill_(2.0)
    # LayerNorm of two numbers gives -1 and 1, so that the scores are 2, -2 and 2
    found = weights(torch.tensor([[5.0, 1.0], [1.0, 2.0], [9.0, 0.0]])).exp()
    high, low = math.exp(1.71 * 2), math.exp(-1.71 * 2)
    expected = torch.tensor([high, low, high]) / (2 * high + low)
    torch.testing.assert_close(found, expected, atol=1e-4, rtol=1e-3)
    assert found.sum().item() == pytest.approx(1)


def test_divergence_and_entropy_by_hand():
    w = torch.tensor([0.5, 0.25, 0.25])
    entropy = 0.5 * math.log(2) + 0.5 * math.log(4)
    assert kl_to_uniform(w.log()).item() == pytest.approx(math.log(3) - entropy)
    assert weight_entropy(w.log()).item() == pytest.approx(entropy / math.log(3))
    assert weight_entropy(torch.zeros(1)).item() == 1  # a batch of one image


def test_weights_that_vanish_have_finite_gradients():
    scores = torch.tensor([0.0, 500.0, -500.0], requires_grad=True)
    kl = kl_to_uniform(scores.log_softmax(0))
    kl.backward()
    assert kl.item() == pytest.approx(math.log(3))
    assert scores.grad.isfinite().all()


def test_squared_norm_counts_what_learns():
    net = nn.Linear(2, 1)
    with torch.no_grad():
        net.weight.copy_(torch.tensor([[3.0, 4.0]]))
        net.bias.fill_(2.0)
    assert squared_norm(net).item() == 29
    net.weight.requires_grad_(False)
    assert squared_norm(net).item() == 4


def test_the_objective_by_hand():
    given, net = batch(), ViT(dim=16, depth=1, heads=2)
    objective = Objective(net, None, AdaptiveWeighting(alpha=2, l2=0.01, kl=0.3))
    nn.init.normal_(objective.instance_weights.score.weight)
    step = objective(net, given, cross_entropy(given), 0, 1)
    h = net.features(given.image)
    z = F.linear(F.layer_norm(h, (16,)), objective.instance_weights.project.weight)
    w = (2 * F.linear(z, objective.instance_weights.score.weight)[:, 0]).softmax(0)
    each = F.cross_entropy(net(given.image), given.label, reduction="none")
    norm = sum(p.square().sum() for p in net.parameters())
    divergence = (w * (w / 0.25).log()).sum()
    torch.testing.assert_close(step.loss, (w * each).sum() + 0.01 * norm + 0.3 * divergence)
    torch.testing.assert_close(step.plain, each.mean())
    torch.testing.assert_close(step.weighed.weight, 4 * w.detach())
    torch.testing.assert_close(step.weighed.loss, each.detach())
    assert step.weighed.row.tolist() == [10, 11, 12, 13]
    assert not net.head._forward_pre_hooks


@pytest.mark.parametrize("make", [ViT, CNN, Swin, Timm])
def test_equal_weights_are_the_plain_loss_for_any_model(make):
    given, net = batch(), make().eval()
    objective = Objective(net, None, AdaptiveWeighting(l2=0))
    step = objective(net, given, cross_entropy(given), 0, 1)
    torch.testing.assert_close(step.loss, F.cross_entropy(net(given.image), given.label))


def test_both_together_take_one_pass_and_every_parameter_learns():
    given, net = batch(), ViT(dim=16, depth=1, heads=2)
    objective = Objective(net, AttentionRegulariser(weight=0.5), AdaptiveWeighting())
    nn.init.normal_(objective.instance_weights.score.weight)
    passes = []
    net.embed.register_forward_hook(lambda *_: passes.append(1))
    step = objective(net, given, cross_entropy(given), 0, 1)
    step.loss.backward()
    assert len(passes) == 1
    assert set(step.terms) == {"weight_entropy", "squared_norm", "attention_loss"}
    named = [*net.named_parameters(), *objective.named_parameters()]
    assert [name for name, p in named if p.grad is None or not p.grad.any()] == []


def test_weights_flee_from_hard_images_and_the_kl_term_holds_them():
    """Of fixed losses: free weights end at softmax(-L / mu)."""
    torch.manual_seed(0)
    features, each = torch.eye(3, 8), torch.tensor([0.1, 0.2, 0.4])
    weights = InstanceWeights(8, AdaptiveWeighting(width=8))
    optimizer = torch.optim.Adam(weights.parameters(), 0.05)
    for _ in range(300):
        log_w = weights(features)
        loss = (log_w.exp() * each).sum() + 0.2 * kl_to_uniform(log_w)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    expected = (-each / 0.2).softmax(0)
    torch.testing.assert_close(weights(features).exp(), expected, atol=1e-3, rtol=0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"alpha": 0}, "alpha above 0 but got 0"),
        ({"alpha": -1.71}, "alpha above 0 but got -1.71"),
        ({"alpha": math.nan}, "alpha above 0 but got nan"),
        ({"l2": -0.1}, "l2 of at least 0 but got -0.1"),
        ({"kl": math.inf}, "kl of at least 0 but got inf"),
        ({"width": 0}, "width from 1 to 65536, or null for no projection, but got 0"),
    ],
)
def test_impossible_weightings(options, message):
    with pytest.raises(UserError, match=message):
        AdaptiveWeighting(**options)
