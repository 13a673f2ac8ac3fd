"""The sizes that the sources, or our reading of them, pin down."""

import pytest

from fer_lightning.models import build
from fer_lightning.models.cost import count_parameters


@pytest.mark.parametrize(
    ("name", "arguments", "count"),
    [
        ("cnn", {}, 1_278_631),
        ("cnn", {"pooling": "layer"}, 668_999),
        ("vit", {}, 807_431),
        ("swin", {}, 719_077),
        ("hybrid_vit", {}, 807_351),  # vit's 807,431 less 0.01 %
        ("apvit", {}, 748_071),
        # the three of "Patches vs Pixels": 32x32 colour, ten classes
        ("vit_tiny", {}, 1_205_898),
        ("simple_cnn", {}, 141_354),
        ("small_resnet", {}, 175_258),
        # the first of them as a ViT
        (
            "vit",
            {"num_classes": 10, "in_chans": 3, "image_size": 32, "patch_size": 4, "depth": 6},
            1_205_898,
        ),
    ],
)
def test_parameter_count(name, arguments, count):
    model = build(name, **arguments)
    assert count_parameters(model) == count
