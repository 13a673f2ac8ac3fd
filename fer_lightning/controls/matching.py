"""One resolution for all maps: LFR grows with the fineness of a map's grid."""

from torch import Tensor

from fer_lightning.attribution.heat import match_resolution, to_heat

GRID = 6  # the coarsest of the core experiment's models: a pooled CNN at 48x48


def match(heat: Tensor, grid: int = GRID) -> Tensor:
    """Average maps over the cells of a coarse grid and scale them up again.

    Models are only comparable at one grid: their own differ (24x24 for a CNN, 8x8 for a ViT), and
    LFR of even a perfect map rises with them. A map that is coarser already stays nearly the same.

    Args:
        heat: (N, H, W) not negative.
        grid: cells along each side.

    Returns:
        (N, H, W) divided by its maximum; zero maps stay zero.

    >>> import torch
    >>> pixel = torch.zeros(1, 4, 4)
    >>> pixel[0, 0, 0] = 1
    >>> match(pixel, grid=2)[0, 0].tolist()  # one hot cell of two, interpolated between centres
    [1.0, 0.75, 0.25, 0.0]
    """
    return to_heat(match_resolution(heat, grid), (heat.shape[1], heat.shape[2]))
