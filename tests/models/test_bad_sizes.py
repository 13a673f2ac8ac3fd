"""Sizes that do not fit are told by the constructor."""

import pytest

from fer_lightning.errors import UserError
from fer_lightning.models import build


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("cnn", {"num_classes": 0}, "num_classes of at least 1 but got 0"),
        ("cnn", {"num_classes": True}, "num_classes to be a whole number but got True"),
        ("cnn", {"in_chans": -1}, "in_chans of at least 1"),
        ("cnn", {"image_size": 3}, "image_size of at least 4 but got 3"),
        ("cnn", {"image_size": 15, "pooling": "layer"}, "image_size of at least 16 but got 15"),
        ("cnn", {"pooling": "both"}, "pooling 'stage' or 'layer' but got 'both'"),
        ("cnn", {"widths": (8, 8)}, "widths of 4 convolutions"),
        ("cnn", {"widths": (8, 8, 0, 8)}, "widths of at least 1"),
        ("cnn", {"feature_width": 0}, "feature_width of at least 1"),
        ("cnn", {"dropout": 1.0}, r"dropout in \[0, 1\)"),
        ("vit", {"image_size": 50}, "image_size divisible by patch_size but got 50 and 6"),
        ("vit", {"patch_size": 96}, "image_size divisible by patch_size but got 48 and 96"),
        ("vit", {"patch_size": 0}, "patch_size of at least 1"),
        ("vit", {"heads": 3}, "dim divisible by heads but got 128 and 3"),
        ("vit", {"depth": 0}, "depth of at least 1"),
        ("vit", {"mlp_ratio": 0.0}, "mlp_width of at least 1"),
        ("vit", {"drop_path": -0.1}, r"drop_path in \[0, 1\)"),
        ("vit", {"pool": "max"}, "pool 'cls' or 'mean' but got 'max'"),
        ("vit_tiny", {"image_size": 30}, "image_size divisible by patch_size but got 30 and 4"),
        ("simple_cnn", {"image_size": 3}, "image_size of at least 4 but got 3"),
        ("simple_cnn", {"in_chans": 0}, "in_chans of at least 1"),
        ("small_resnet", {"image_size": 3}, "image_size of at least 4 but got 3"),
        ("small_resnet", {"num_classes": 0}, "num_classes of at least 1"),
        ("swin", {"image_size": 50}, "image_size divisible by 8"),
        ("swin", {"image_size": 4}, "image_size divisible by 8"),
        ("swin", {"heads": (3, 6, 7)}, "144 channels divisible by the heads of stage 3 but got 7"),
        ("swin", {"depths": (2, 2)}, "depths and heads of the same stages"),
        ("swin", {"depths": (2, 0, 2)}, "depths of at least 1"),
        ("swin", {"window_size": 0}, "window_size of at least 1"),
        ("hybrid_vit", {"image_size": 50}, "divisible by 6, the stem's stride, but got 50"),
        ("hybrid_vit", {"widths": (8, 8)}, "widths of 4 convolutions"),
        ("apvit", {"image_size": 50}, "divisible by 4, the stem's stride, but got 50; .* to 48"),
        ("apvit", {"keep_patches": 145}, "keep_patches of at most 144"),
        ("apvit", {"keep_patches": 0}, "keep_patches of at least 1"),
        ("apvit", {"keep_rate": 1.5}, "keep_rate above 0 and at most 1 but got 1.5"),
        ("apvit", {"pool": "mean"}, r"expected a \[CLS\] token"),
        ("apvit", {"widths": (8, 8, 0)}, "widths of at least 1"),
        ("apvit_112", {"image_size": 100}, "divisible by 8, the stem's stride, but got 100"),
        ("apvit_112", {"image_size": 48}, "keep_patches of at most 36"),
        ("apvit_112", {"units": (3, 4)}, "units of 3 stages"),
    ],
)
def test_bad_size(name, arguments, message):
    with pytest.raises(UserError, match=message):
        build(name, **arguments)
