"""Parts of a model that can come from elsewhere: stem and encoder."""

import pytest

from fer_lightning.models import MODELS, build


@pytest.mark.parametrize("name", MODELS)
def test_every_weight_belongs_to_one_part_or_the_head(name):
    model = build(name)
    beginnings = [b for part in model.parts.values() for b in part] + ["head."]
    weights = list(model.state_dict())
    assert all(sum(w.startswith(b) for b in beginnings) == 1 for w in weights)
    assert all(any(w.startswith(b) for w in weights) for b in beginnings)
    assert ("stem" in model.parts) == any(w.startswith("stem.") for w in weights)


def test_parts_of_a_vit():
    model = build("vit", depth=1)
    assert model.parts == {"encoder": ("embed.", "blocks.", "norm.", "cls_token", "pos_embed")}
