"""Which places of the image a transformer's learned positions take to be alike."""

from torch import Tensor, nn
from torch.nn import functional as F

from fer_lightning.attribution.frozen import innermost


def position_similarity(model: nn.Module) -> Tensor:
    """Compare the learned position of every patch with that of every other.

    Args:
        model: a `VisionModel` that learns absolute positions.

    Returns:
        (h, w, h, w) cosine similarities, float32 from -1 to 1: [i, j] is the map of patch (i, j).

    Raises:
        NoAttentionError: the model learns no absolute positions.

    >>> from fer_lightning.models import ViT
    >>> similarity = position_similarity(ViT())
    >>> similarity.shape, round(similarity[2, 3, 2, 3].item(), 5)
    (torch.Size([8, 8, 8, 8]), 1.0)
    """
    positions = innermost(model).positions.detach().float()
    h, w, _ = positions.shape
    unit = F.normalize(positions.flatten(0, 1), dim=1)
    return (unit @ unit.T).clamp(-1, 1).view(h, w, h, w)


def centre(similarity: Tensor) -> Tensor:
    """Return the map of the centre patch, (h, w); with even sides, the one right below the middle.

    That is patch 36 of 8x8. "Patches vs Pixels" calls patch 32 the centre, which is the first of
    its row.

    >>> import torch
    >>> centre(torch.arange(4096.0).view(8, 8, 8, 8))[0, 0].item() / 64
    36.0
    """
    h, w = similarity.shape[:2]
    return similarity[h // 2, w // 2]
