"""Costs against counts by hand."""

import torch

from fer_lightning.models import CNN, Timm, ViT
from fer_lightning.models.cost import count_flops, count_multiply_adds, count_parameters


def test_cnn():
    first = 48 * 48 * (9 * 32 + 9 * 32 * 32)
    second = 24 * 24 * (25 * 32 * 64 + 9 * 64 * 64)
    linear = 64 * 12 * 12 * 128 + 128 * 7
    assert count_multiply_adds(CNN()) == first + second + linear
    assert count_flops(CNN()) == 2 * (first + second + linear)


def test_vit_with_attention_and_without_unread_patches():
    n, d = 65, 128
    layer = n * (3 + 1 + 8) * d * d + 2 * n * n * d
    last = (1 + 2 * n + 1 + 8) * d * d + 2 * n * d  # only [CLS] asks
    embedding, head = 64 * 36 * d, d * 7
    assert count_multiply_adds(ViT()) == embedding + 3 * layer + last + head


def test_batch_and_published_input_size():
    assert count_flops(CNN(), batch=3) == 3 * count_flops(CNN())
    small, large = (Timm(name="test_resnet", preprocess=True, input_size=s) for s in (80, 160))
    assert count_flops(large) > 3 * count_flops(small)


def test_works_where_gradients_are_off():
    model = CNN()
    with torch.inference_mode():
        assert count_flops(model) == 147_605_248


def test_trainable_parameters():
    model = CNN()
    model.head.requires_grad_(False)
    assert count_parameters(model) - count_parameters(model, trainable=True) == 128 * 7 + 7
