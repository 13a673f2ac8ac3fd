"""The part all focus metrics share: one value per image, kept, gathered over processes, sorted."""

from typing import NamedTuple

import numpy as np
import torch
from scipy.stats import rankdata
from torch import Tensor
from torchmetrics import Metric

from fer_lightning.errors import UserError

# --- Numbers that describe many per-image values, some of which are heavy-tailed or missing


LOG_FLOOR = (
    1e-8  # the reciprocal of the largest LFR its epsilon allows, so both tails weigh the same
)


def summarise(values: Tensor) -> dict[str, Tensor]:
    """Describe per-image values; NaN marks an image whose map is all zero.

    Args:
        values: (N,) or (N, R).

    Returns:
        Scalars or (R,) tensors: `mean`, `sd` (n-1 in the denominator) and `median` over the images
        that have a value; `n`, the number of all images; `zero_maps`, how many of them are NaN.

    >>> values = torch.tensor([1.0, 2.0, 9.0, torch.nan])
    >>> {name: value.item() for name, value in summarise(values).items()}
    {'mean': 4.0, 'sd': 4.3588..., 'median': 2.0, 'n': 4, 'zero_maps': 1}
    """
    values = values.double()
    missing = values.isnan()
    present = (~missing).sum(0)
    mean = values.nanmean(0)
    squares = ((values - mean) ** 2).nansum(0)
    # One value has no spread: 0 / 0 is the NaN we want, also where no value is present.
    sd = torch.where(present > 1, squares, torch.nan).div(present - 1).sqrt()
    return {
        "mean": mean,
        "sd": sd,
        "median": values.nanquantile(0.5, dim=0),
        "n": torch.full_like(present, len(values)),
        "zero_maps": missing.sum(0),
    }


def summarise_ratio(values: Tensor, log_floor: float = LOG_FLOOR) -> dict[str, Tensor]:
    """Describe ratios whose neutral value is 1, under both conventions for zero maps.

    One map without heat outside its mask can decide a mean of ratios, and what happens to zero
    maps can decide a comparison; so medians and logarithms stand beside the mean, and every
    statement is made with zero maps left out and with zero maps counted as 0 (`_zeros_in`).

    Args:
        values: (N,) or (N, R) ratios, NaN for a zero map.
        log_floor: Smaller ratios count as this one in `log_mean`.

    Returns:
        What `summarise` gives, and `log_mean` (mean natural logarithm), `share_ge_1` (share of
        ratios of at least 1), `mean_zeros_in`, `median_zeros_in`, `share_ge_1_zeros_in`.

    >>> result = summarise_ratio(torch.tensor([0.5, 2.0, torch.nan, torch.nan]))
    >>> [result[name].item() for name in ("log_mean", "share_ge_1", "share_ge_1_zeros_in")]
    [0.0, 0.5, 0.25]
    """
    values = values.double()
    filled = values.nan_to_num(0.0)
    at_least_1 = (values >= 1).double().masked_fill(values.isnan(), torch.nan)
    return summarise(values) | {
        "log_mean": values.clamp(min=log_floor).log().nanmean(0),
        "share_ge_1": at_least_1.nanmean(0),
        "mean_zeros_in": filled.mean(0),
        "median_zeros_in": filled.quantile(0.5, dim=0),
        "share_ge_1_zeros_in": (filled >= 1).double().mean(0),
    }


NO_ID = -1
LARGEST_ID = 2**53  # whole numbers up to here are exact in float64


class PerSampleMetric(Metric):
    """Keep per-image values and describe them; a subclass's `update` calls `add`.

    `compute` returns what `summary` makes of the values, and two more tensors: `values`, (N,) or
    (N, R), and `ids`, (N,). With ids, the images come back sorted by id and an image that a
    sampler repeated to fill up a batch counts once, so one process and many give the same result.
    Without ids (all -1) the order is that of the updates, process by process. As with every
    torchmetrics metric, a tensor of one element comes back without its axes.
    """

    is_differentiable = False
    higher_is_better: bool | None = None
    full_state_update = False
    flat_values: list[Tensor]
    flat_ids: list[Tensor]
    regions: Tensor

    def __init__(self) -> None:
        super().__init__()
        # A process that saw no image takes part in gathering with an empty one-dimensional tensor
        # of the metric's type; states of any other shape or type would not fit to it.
        self.set_dtype(torch.float64)
        self.add_state("flat_values", default=[], dist_reduce_fx="cat")
        self.add_state("flat_ids", default=[], dist_reduce_fx="cat")
        # Number of regions, 0 for values without a region axis.
        self.add_state("regions", default=torch.tensor(0), dist_reduce_fx="max")
        # MetricCollection takes metrics whose states are equal after the first batch for the same
        # and then updates only one of them. NaN equals nothing, so it keeps ours apart.
        self.add_state("apart", default=torch.tensor(torch.nan), dist_reduce_fx="max")

    def add(self, values: Tensor, ids: Tensor | None = None) -> None:
        """Keep the values of one batch.

        Args:
            values: (B,) or (B, R), NaN for a zero map.
            ids: (B,) whole numbers that name the images, such as their place in the data set.

        Raises:
            UserError: Another number of regions than before, or ids that do not fit.
        """
        regions = values.shape[1] if values.ndim == 2 else 0
        if self.flat_values and regions != self.regions:
            raise UserError(
                f"expected {self.regions.item()} regions as in the updates before (0: one mask "
                f"without a region axis), but got {regions}: use one metric per set of masks."
            )
        self.regions = torch.tensor(regions, device=self.device)
        if ids is None:
            ids = torch.full((len(values),), NO_ID)
        elif ids.shape != values.shape[:1] or ids.is_floating_point() or not _fit(ids):
            raise UserError(
                f"expected {len(values)} whole-number ids from 0 to 2**53, but got {ids.dtype} of "
                f"shape {tuple(ids.shape)}: pass the images' places in the data set."
            )
        # Apple's GPUs have no float64.
        dtype = torch.float32 if self.device.type == "mps" else torch.float64
        self.flat_values.append(values.flatten().to(self.device, dtype))
        self.flat_ids.append(ids.to(self.device, dtype))

    def summary(self, values: Tensor) -> dict[str, Tensor]:
        """Describe all values, (N,) or (N, R); overridden where more is worth saying."""
        return summarise(values)

    def compute(self) -> dict[str, Tensor]:
        """Return the summary, and `values` and `ids` of every image."""
        values, ids = _joined(self.flat_values), _joined(self.flat_ids).long()
        if len(ids) == 0:
            raise UserError("expected at least one map, but got none: call update before compute.")
        regions = int(self.regions)
        if len(values) != len(ids) * max(regions, 1):
            raise UserError(
                f"expected {regions} regions in every update and process, but got fewer in some: "
                "use one metric per set of masks."
            )
        if regions > 0:
            values = values.reshape(len(ids), regions)
        if (ids != NO_ID).all():
            order = ids.argsort(stable=True)
            first = torch.ones_like(ids, dtype=torch.bool)
            first[1:] = ids[order][1:] != ids[order][:-1]
            values, ids = values[order][first], ids[order][first]
        return self.summary(values) | {"values": values, "ids": ids}


def _fit(ids: Tensor) -> bool:
    """Tell whether ids can be kept as float64."""
    return bool(ids.min() >= 0 and ids.max() <= LARGEST_ID)


def _joined(state: list[Tensor] | Tensor) -> Tensor:
    """Join a list state, which is one tensor already after it has been gathered."""
    if isinstance(state, Tensor):
        return state
    return torch.cat(state) if state else torch.empty(0)


# --- Correlation of many pairs at once, undefined where one side does not vary


def pearson(a: Tensor, b: Tensor) -> Tensor:
    """Correlate row by row: two (N, P) → (N,) float64, NaN where a row is constant.

    >>> pearson(torch.tensor([[1.0, 2, 3], [1, 1, 1]]), torch.tensor([[2.0, 4, 6], [1, 2, 3]]))
    tensor([1., nan], dtype=torch.float64)
    """
    a, b = _centred(a), _centred(b)
    return (a * b).sum(1) / (a.square().sum(1) * b.square().sum(1)).sqrt()


def spearman(a: Tensor, b: Tensor) -> Tensor:
    """Correlate the ranks row by row, tied values sharing their mean rank: two (N, P) → (N,).

    >>> spearman(torch.tensor([[1.0, 2, 9]]), torch.tensor([[1.0, 3, 2]]))
    tensor([0.5000], dtype=torch.float64)
    """
    return pearson(_ranks(a), _ranks(b))


def _centred(values: Tensor) -> Tensor:
    values = values.detach().cpu().double()
    centred = values - values.mean(1, keepdim=True)
    # a constant row may miss its own mean by a rounding
    return centred.masked_fill((values == values[:, :1]).all(1, keepdim=True), 0.0)


def _ranks(values: Tensor) -> Tensor:
    return torch.from_numpy(rankdata(values.detach().cpu().numpy(), axis=1))


# --- What all focus metrics share: checked heat maps, checked masks, heat inside and outside them


class Masks(NamedTuple):
    """Checked masks: `pixels` is (B or 1, R, H, W) bool; `single` drops R from the result."""

    pixels: Tensor
    single: bool


class RegionSums(NamedTuple):
    """Heat `inside` and `outside` each mask, (B,) or (B, R) float64, and its `area` in pixels.

    Arrays, not tensors: with few cores, torch's threads would wait for each other here for longer
    than the sums took.
    """

    inside: np.ndarray
    outside: np.ndarray
    area: np.ndarray
    pixels: int

    def per_total(self, part: np.ndarray) -> np.ndarray:
        """Divide by all heat of the map; an all-zero map gives NaN."""
        total = self.inside + self.outside
        return np.divide(part, total, out=np.full_like(total, np.nan), where=total > 0)


def check_heat(heat: Tensor) -> Tensor:
    """Refuse anything but a stack of finite, non-negative maps, and bring it to the CPU as floats.

    The metrics work on the CPU, where no setting for fast matrix products can make them coarse.

    >>> check_heat(torch.ones(2, 3, 3, dtype=torch.uint8)).dtype
    torch.float32
    """
    if heat.ndim != 3 or heat.numel() == 0:
        raise UserError(
            f"expected heat maps of shape (B, H, W), but got {tuple(heat.shape)}: "
            "pass a stack with one map per image."
        )
    heat = heat.detach().cpu()
    if heat.dtype not in (torch.float32, torch.float64):
        heat = heat.float()
    if not _is_heat(heat.numpy()):
        lowest, highest = torch.aminmax(heat)  # both are NaN if any value is
        raise UserError(
            f"expected finite heat that is not negative, but got values from {lowest.item():.3g} "
            f"to {highest.item():.3g}: apply ReLU to signed maps and look for NaN in the model."
        )
    return heat


def _is_heat(values: np.ndarray) -> bool:
    """Tell whether all values are finite and not negative, in one pass where possible.

    Read as unsigned integers, NaN, infinity and all negative floats lie above the finite ones; of
    these -0.0 is heat after all, so only a second look decides.

    >>> [_is_heat(np.array([1.0, value])) for value in (0.0, -0.0, -1.0, np.inf, np.nan)]
    [True, True, False, False, False]
    """
    integers = values.view(np.uint32 if values.dtype == np.float32 else np.uint64)
    infinity = np.array(np.inf, values.dtype).view(integers.dtype)
    return bool(integers.max() < infinity or (values.min() >= 0 and values.max() < np.inf))


def check_masks(mask: Tensor, heat: Tensor, per_image: bool = False) -> Masks:
    """Refuse a mask of another size, one that is not binary, and one that is empty or full.

    Args:
        mask: (H, W) one region; (R, H, W) regions shared by all images, or (B, H, W) one region
            each when `per_image` is set; (B, R, H, W) regions of each image.
        heat: (B, H, W) the maps it belongs to.
        per_image: How to read three dimensions. It is never guessed from the sizes: a last batch
            of R images would be read wrongly.

    >>> check_masks(torch.eye(3).bool(), torch.ones(5, 3, 3)).pixels.shape
    torch.Size([1, 1, 3, 3])
    """
    B, H, W = heat.shape
    single = mask.ndim == 2 or (mask.ndim == 3 and per_image)
    pixels = mask.detach().cpu()
    if single:
        pixels = pixels.unsqueeze(-3)  # an axis R of length one
    if pixels.ndim == 3:
        pixels = pixels.unsqueeze(0)
    if pixels.ndim != 4 or pixels.shape[-2:] != (H, W) or pixels.shape[0] not in (1, B):
        raise UserError(
            f"expected a mask of the maps' size {H}x{W} as (H, W), (R, H, W) or ({B}, R, H, W), or "
            f"({B}, H, W) with per_image=True, but got {tuple(mask.shape)}: scale the mask first."
        )
    if pixels.dtype != torch.bool:
        if not ((pixels == 0) | (pixels == 1)).all():
            raise UserError("expected a mask of 0 and 1, but got other values: threshold it first.")
        pixels = pixels.bool()
    # NumPy counts bools 15 times as fast as torch adds them
    area = torch.from_numpy(np.count_nonzero(pixels.cpu().numpy(), axis=(-2, -1)))  # (B or 1, R)
    useless = (area == 0) | (area == H * W)
    if useless.any() or area.numel() == 0:
        image, region = useless.nonzero()[0].tolist() if area.numel() else (0, 0)
        state = "an empty" if area.numel() == 0 or area[image, region] == 0 else "a full"
        raise UserError(
            f"expected masks with pixels inside and outside, but got {state} one (mask {image}, "
            f"region {region}): leave out images whose region is not visible."
        )
    return Masks(pixels, single)


def region_sums(heat: Tensor, masks: Masks) -> RegionSums:
    """Add up the heat inside and outside each mask.

    "Outside" is summed over its own pixels, never as total minus inside: where it holds no heat at
    all, it is exactly zero. Sums over masks shared by all images keep the precision of the maps
    (float32: about 1e-6 of the value), those over masks of each image are made in float64.

    >>> heat = torch.tensor([[[1.0, 2.0], [3.0, 4.0]]])
    >>> sums = region_sums(heat, check_masks(torch.tensor([[1, 0], [0, 0]]), heat))
    >>> sums.inside.tolist(), sums.outside.tolist(), sums.area.tolist(), sums.pixels
    ([1.0], [9.0], [1.0], 4)
    """
    flat = heat.flatten(1).numpy()  # (B, P)
    inside_of = masks.pixels.flatten(2).numpy()  # (B or 1, R, P)
    both = np.concatenate([inside_of, ~inside_of], axis=1)  # (B or 1, 2R, P)
    if len(both) < len(flat):  # shared by all images
        weights = both[0].astype(flat.dtype)
        if len(weights) == 2:  # two matrix-vector products take half the time of one thin product
            sums = np.stack([flat @ row for row in weights], axis=1)
        else:
            sums = flat @ weights.T
    else:
        # Buffered by numpy: no copy of all masks as floats, which would be gigabytes.
        sums = np.einsum("bp,brp->br", flat, both, dtype=np.float64)
    inside, outside = np.split(sums.astype(np.float64), 2, axis=1)
    area = inside_of.sum(-1, dtype=np.float64)
    if masks.single:
        inside, outside, area = inside[:, 0], outside[:, 0], area[:, 0]
    return RegionSums(inside, outside, area, flat.shape[1])
