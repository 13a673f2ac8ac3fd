import pytest
import torch

from fer_lightning.errors import UserError
from fer_lightning.look.methods import explain, list_methods
from fer_lightning.look.methods.attention import attention_relevance, attention_rollout
from fer_lightning.look.methods.grad_cam import grad_cam
from fer_lightning.look.methods.gradient import input_gradient_map
from fer_lightning.look.methods.integrated_gradients import integrated_gradients
from fer_lightning.look.methods.occlusion import occlusion_map
from fer_lightning.look.methods.smooth_grad import smooth_grad
from fer_lightning.models import CNN, ViT


@pytest.fixture
def vit():
    torch.manual_seed(0)
    return ViT(image_size=12, patch_size=3, dim=8, depth=1, heads=2)


@pytest.mark.parametrize("method", list_methods())
def test_each_method_is_that_of_its_name(vit, method):
    images = torch.rand(3, 1, 12, 12, generator=torch.Generator().manual_seed(0))
    target = torch.tensor([1, 4, 0])
    found = explain(vit, images, target, method, batch_size=2)
    expected = {
        "hires_cam": lambda: grad_cam(vit, images, target, "hires_cam").signed,
        "grad_cam": lambda: grad_cam(vit, images, target).signed,
        "gradient": lambda: input_gradient_map(vit, images, target),
        "attention_rollout": lambda: attention_rollout(vit, images),
        "attention_relevance": lambda: attention_relevance(vit, images, target),
        "integrated_gradients": lambda: integrated_gradients(vit, images, target),
        "occlusion": lambda: occlusion_map(vit, images, target),
        "smooth_grad": lambda: smooth_grad(vit, images, target),
    }
    torch.testing.assert_close(found, expected[method]())


def test_attention_of_a_model_without():
    model = CNN(image_size=8, widths=(4, 4, 4, 4))
    with pytest.raises(UserError, match="global attention"):
        explain(model, torch.rand(1, 1, 8, 8), method="attention_relevance")


def test_an_unknown_method(vit):
    with pytest.raises(UserError, match="did you mean 'grad_cam'"):
        explain(vit, torch.rand(1, 1, 12, 12), method="gradcam")
