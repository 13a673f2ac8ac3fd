"""Maps that know nothing of the face: what a focus number is without any looking."""

import torch
from torch import Tensor, nn

from fer_lightning.errors import UserError
from fer_lightning.look.frozen import innermost
from fer_lightning.look.heat import to_heat
from fer_lightning.models.base import VisionModel

Size = tuple[int, int]
SIGMAS = (1 / 3, 1 / 4, 1 / 6)  # of the centre Gaussians: 16, 12 and 8 pixels of 48


def uniform(n: int, size: Size) -> Tensor:
    """Return n maps that are equally hot everywhere, (n, H, W).

    >>> uniform(2, (1, 3)).tolist()
    [[[1.0, 1.0, 1.0]], [[1.0, 1.0, 1.0]]]
    """
    return torch.ones(n, *size)


def centre_gaussian(n: int, size: Size, sigma: float) -> Tensor:
    """Return n times the same blob in the middle, (n, H, W): the bias of photographers.

    Args:
        n: how many maps.
        size: height and width in pixels.
        sigma: standard deviation as a share of the side, above 0.

    Raises:
        UserError: a sigma that is not positive.

    >>> blob = centre_gaussian(1, (3, 3), sigma=1 / 3)[0]  # one pixel wide
    >>> blob[1].tolist() == [blob[0, 1], 1.0, blob[0, 1]], round(blob[0, 1].item(), 4)
    (True, 0.6065)
    """
    if sigma <= 0:
        raise UserError(f"expected a sigma above 0 but got {sigma}; it is a share of the side")
    down, across = (_bell(side, sigma) for side in size)
    return to_heat((down[:, None] * across)[None], size).repeat(n, 1, 1)


def _bell(side: int, sigma: float) -> Tensor:
    place = (torch.arange(side) - (side - 1) / 2) / (sigma * side)
    return torch.exp(-0.5 * place**2)


def random_grid(n: int, size: Size, grid: Size, seed: int) -> Tensor:
    """Return n maps of noise at the model's own grid, treated like its maps, (n, H, W).

    The noise is normal and signed, and goes through ReLU, interpolation and scaling as a model's
    maps do; on a grid of few cells some maps are zero, as a model's may be.

    >>> random_grid(2, (48, 48), (6, 6), seed=0).amax((1, 2)).tolist()
    [1.0, 1.0]
    """
    generator = torch.Generator().manual_seed(seed)
    return to_heat(torch.randn(n, *grid, generator=generator), size)


def mean_map(heat: Tensor) -> Tensor:
    """Return the mean of a model's maps, the same for each image, (N, H, W).

    It knows where the model looks on average, but not what is in the image: what its numbers do
    not reach is due to the single image.

    >>> mean_map(torch.tensor([[[1.0, 0.0]], [[1.0, 1.0]]])).tolist()
    [[[1.0, 0.5]], [[1.0, 0.5]]]
    """
    N, H, W = heat.shape
    return to_heat(heat.mean(0, keepdim=True), (H, W)).repeat(N, 1, 1)


def null_maps(heat: Tensor, grid: Size, seed: int) -> dict[str, Tensor]:
    """Return every null map that needs no model, by name, for a model's maps.

    Args:
        heat: (N, H, W) the model's maps.
        grid: rows and columns of the model's maps before they were scaled up.
        seed: of the noise.

    Returns:
        `uniform`, `gaussian_<sigma>`, `random_grid` and `mean_map`, each (N, H, W) on the CPU.

    >>> list(null_maps(torch.rand(2, 48, 48), (8, 8), seed=0))
    ['uniform', 'gaussian_0.33', 'gaussian_0.25', 'gaussian_0.17', 'random_grid', 'mean_map']
    """
    n, size = len(heat), (heat.shape[1], heat.shape[2])
    blobs = {f"gaussian_{sigma:.2f}": centre_gaussian(n, size, sigma) for sigma in SIGMAS}
    return {
        "uniform": uniform(n, size),
        **blobs,
        "random_grid": random_grid(n, size, grid, seed),
        "mean_map": mean_map(heat.cpu()),
    }


# --- Untrained models whose every part takes part


@torch.no_grad()
def wake_zeros(model: nn.Module, generator: torch.Generator | None = None) -> int:
    """Give weights that start at zero a usual start, and return how many tensors that were.

    Some backbones begin with a zero head, or with a zero scale at the end of each residual branch:
    untrained, they ignore most of their own weights, which makes them no fair untrained twins.

    Args:
        model: changed in place. Scales of norms become 1; matrices are drawn from a normal
            distribution of standard deviation 0.02. Biases may stay zero.
        generator: draws the matrices.

    >>> layer = nn.Linear(3, 2)
    >>> _ = nn.init.zeros_(layer.weight)
    >>> wake_zeros(layer), bool(layer.weight.any()), wake_zeros(layer)
    (1, True, 0)
    """
    woken = 0
    for module in model.modules():
        weight = getattr(module, "weight", None)
        if not isinstance(weight, nn.Parameter) or weight.is_meta or weight.any():
            continue
        if weight.ndim == 1:
            weight.fill_(1.0)
        else:
            weight.normal_(std=0.02, generator=generator)
        woken += 1
    return woken


# --- Untrained twins: the same architecture that has never seen a face


SEEDS = (0, 1, 2)


def untrained_twin(model: nn.Module, seed: int) -> VisionModel:
    """Make the same model anew, in eval mode on the same device; no weights are loaded.

    Parts that start at zero are woken, for they would hide what the others do. The global random
    state stays as it was.

    Args:
        model: a `VisionModel`, maybe compiled or wrapped for distributed training.
        seed: of the new weights.

    >>> from fer_lightning.models import CNN
    >>> model = CNN()
    >>> twin, again = untrained_twin(model, seed=1), untrained_twin(model, seed=1)
    >>> torch.equal(twin.head.weight, again.head.weight)
    True
    >>> torch.equal(twin.head.weight, model.head.weight)
    False
    """
    inner = innermost(model)
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)  # weights are drawn on the CPU
        twin = type(inner)(**inner.rebuild_args())
        wake_zeros(twin)
    twin.set_scale(**inner.scale or {})
    return twin.to(next(inner.parameters()).device).eval()
