"""Attentive patch pooling: leave weak patches out before the transformer, or weaken them."""

from torch import Tensor, nn

from fer_lightning.models.places import strongest
from fer_lightning.models.pooling import AttentivePooling, PatchCriterion


def patch_scores(patches: Tensor, criterion: PatchCriterion) -> Tensor:
    """Return the strength of each patch, (B, N), from its channels, (B, N, D).

    >>> import torch
    >>> patch_scores(torch.tensor([[[1.0, -4.0], [2.0, 1.0]]]), "abs")
    tensor([[5., 3.]])
    """
    if criterion == "abs":
        return patches.abs().sum(-1)
    return patches.sum(-1) if criterion == "sum" else patches.amax(-1)


class LANet(nn.Sequential):
    """Two 1x1 convolutions (here linear layers over channels) that give each patch one number.

    As in the source there is no sigmoid at the end: the order counts.
    """

    def __init__(self, dim: int, reduction: int = 16) -> None:
        hidden = max(dim // reduction, 1)
        super().__init__(nn.Linear(dim, hidden), nn.ReLU(), nn.Linear(hidden, 1))


class PatchPooling(nn.Module):
    """Choose the patches that reach the first layer.

    No weights, except with the criterion ``"lanet"``: there the map multiplies the patches before
    the choice, because a choice alone passes no gradient to the network that made it.

    Args:
        dim: width of a patch.
        criterion: as in `AttentivePooling`.

    >>> import torch
    >>> patches = torch.tensor([[[1.0], [-3.0], [2.0]]])
    >>> pool = PatchPooling(1, "abs")
    >>> pool(patches, AttentivePooling(keep_patches=2))[1]
    tensor([[1, 2]])
    >>> pool(patches, AttentivePooling(patch_mode="soft"))[0].flatten().tolist()
    [0.3333333432674408, -3.0, 1.3333333730697632]
    """

    def __init__(self, dim: int, criterion: PatchCriterion) -> None:
        super().__init__()
        if criterion == "lanet":
            self.lanet = LANet(dim)

    def forward(self, patches: Tensor, pooling: AttentivePooling) -> tuple[Tensor, Tensor | None]:
        """Return the patches, maybe multiplied, and the indices to keep, (B, k); None for all.

        Soft pooling by a hand-made criterion divides strengths by the image's largest (our
        choice: the source leaves their scale open, and sums over channels would blow tokens up).
        """
        N, k = patches.shape[1], pooling.keep_patches
        keeps_all = k is None or k == N
        if pooling.patch_criterion == "lanet":
            scores = self.lanet(patches)[..., 0]
            patches = patches * scores[..., None]
        elif keeps_all and pooling.patch_mode == "hard":
            return patches, None
        else:
            scores = patch_scores(patches, pooling.patch_criterion)
            if pooling.patch_mode == "soft":
                largest = scores.abs().amax(1, keepdim=True).clamp(min=1e-6)
                patches = patches * (scores / largest)[..., None]
        if k is None or k == N:
            return patches, None
        return patches, strongest(scores, k)
