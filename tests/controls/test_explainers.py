from typing import get_args

import pytest
import torch

from fer_lightning import look as attribution
from fer_lightning.errors import UserError
from fer_lightning.look.methods import Method, explain
from fer_lightning.models import CNN, ViT


@pytest.fixture
def vit():
    torch.manual_seed(0)
    return ViT(image_size=12, patch_size=3, dim=8, depth=1, heads=2)


@pytest.mark.parametrize("method", get_args(Method))
def test_each_method_is_that_of_its_name(vit, method):
    images = torch.rand(3, 1, 12, 12, generator=torch.Generator().manual_seed(0))
    target = torch.tensor([1, 4, 0])
    found = explain(vit, images, target, method, batch_size=2)
    if method == "hires_cam":
        expected = attribution.grad_cam(vit, images, target, "hires_cam").signed
    elif method == "grad_cam":
        expected = attribution.grad_cam(vit, images, target).signed
    elif method == "attention_rollout":
        expected = attribution.attention_rollout(vit, images)
    else:
        expected = getattr(attribution, method)(vit, images, target)
    torch.testing.assert_close(found, expected)


def test_attention_of_a_model_without():
    model = CNN(image_size=8, widths=(4, 4, 4, 4))
    with pytest.raises(UserError, match="global attention"):
        explain(model, torch.rand(1, 1, 8, 8), method="attention_relevance")


def test_an_unknown_method(vit):
    with pytest.raises(UserError, match="did you mean 'grad_cam'"):
        explain(vit, torch.rand(1, 1, 12, 12), method="gradcam")
