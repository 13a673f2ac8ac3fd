"""Numbers that describe many per-image values, some of which are heavy-tailed or missing."""

import torch
from torch import Tensor

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
