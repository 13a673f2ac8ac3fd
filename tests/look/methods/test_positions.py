"""Similarity of learned positions."""

import pytest
import torch

from fer_lightning.look.methods.attention import NoAttentionError, centre, position_similarity
from fer_lightning.models import CNN, Timm, ViT


def test_cosine_by_hand():
    model = ViT(image_size=4, patch_size=2, dim=2, heads=1, depth=1)
    with torch.no_grad():
        model.pos_embed[0] = torch.tensor(  # [CLS], then the patches row by row
            [[9.0, 9.0], [1.0, 0.0], [0.0, 2.0], [3.0, 3.0], [-4.0, 0.0]]
        )
    similarity = position_similarity(model)
    half = 0.5**0.5
    assert torch.allclose(similarity[0, 0], torch.tensor([[1.0, 0.0], [half, -1.0]]))
    assert torch.allclose(similarity[1, 0], torch.tensor([[half, half], [1.0, -half]]))
    assert torch.equal(centre(similarity), similarity[1, 1])
    assert not similarity.requires_grad


def test_every_place_is_itself():
    similarity = position_similarity(torch.compile(Timm(name="test_vit", image_size=64)))
    assert similarity.shape == (4, 4, 4, 4)
    assert torch.allclose(similarity.view(16, 16).diagonal(), torch.ones(16))
    assert torch.allclose(similarity.view(16, 16), similarity.view(16, 16).T)


def test_the_centre_of_eight_by_eight_is_patch_36():
    assert torch.equal(
        centre(torch.arange(4096).view(8, 8, 8, 8)).flatten(), torch.arange(36 * 64, 37 * 64)
    )


def test_a_model_without_positions():
    with pytest.raises(NoAttentionError, match="learned positions but got CNN"):
        position_similarity(CNN())
