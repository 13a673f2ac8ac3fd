"""All focus numbers of a stack of maps: image by image, and summed up region by region."""

import torch
from torch import Tensor

from fer_lightning.data.regions import Regions
from fer_lightning.look.metrics import (
    background_share,
    local_focus_ratio,
    mask_auc,
    mass_ratio,
    pointing_game,
    region_overlap,
    summarise,
    summarise_ratio,
)

Number = float | int
METRICS = ("lfr", "lsi", "background", "mass", "pointing", "auc")


def usable(masks: Tensor, regions: Regions) -> Tensor:
    """Tell for which images and regions a mask has an inside and an outside.

    Args:
        masks: (N, R, H, W) in the order of `regions`.
        regions: of the data set.

    Returns:
        (N, rows) bool in the order of ``regions.rows``.
    """
    area = masks[:, : len(regions.rows)].flatten(2).sum(2)
    return (area > 0) & (area < masks[0, 0].numel())


def measure(
    heat: Tensor, masks: Tensor, regions: Regions, threshold: float = 0.5
) -> dict[str, Tensor]:
    """Compute every focus number of each image.

    Args:
        heat: (N, H, W) finite and not negative.
        masks: (N, R, H, W) bool in the order of `regions`.
        regions: of the data set.
        threshold: share of a map's maximum from which a pixel is hot, for LSI.

    Returns:
        By name, (N, rows) in the order of ``regions.rows``, NaN for a zero map or a region that the
        image does not have: `lfr`, `lsi` (the overlap of a single region; its mean over the parts
        of a union), `mass` (mass ratio), `pointing`, `auc`, `background` (alike for each region;
        NaN where the regions have no outside), and `counted`: whether the image has the region.

    Raises:
        UserError: NaN or negative heat, or masks of another size.

    >>> from fer_lightning.data.regions import FACE
    >>> heat, masks = torch.ones(2, 4, 4), torch.zeros(2, 7, 4, 4, dtype=torch.bool)
    >>> masks[:, :, :2] = True
    >>> measure(heat, masks, FACE)["mass"][0].tolist()
    [1.0, 1.0, 1.0, 1.0, 1.0, 1.0]
    """
    return measure_variants(heat, masks[:, None], regions, threshold)[0]


def measure_variants(
    heat: Tensor, masks: Tensor, regions: Regions, threshold: float = 0.5
) -> list[dict[str, Tensor]]:
    """Compute what `measure` does under several masks at once, which ranks each map only once.

    Args:
        heat: (N, H, W).
        masks: (N, V, R, H, W).
        regions: as for `measure`.
        threshold: as for `measure`.

    Returns:
        V times what `measure` returns.
    """
    N, V = masks.shape[:2]
    rows, parts = len(regions.rows), len(regions.parts)
    counted = usable(masks.flatten(0, 1), regions).view(N, V, rows)
    masks = _with_stand_ins(masks)
    each = masks[:, :, :rows].flatten(1, 2)  # (N, V * rows, H, W)
    overlap = region_overlap(heat, masks[:, :, :parts].flatten(1, 2), threshold)
    overlap = overlap.unflatten(1, (V, parts))
    lost = ~counted[..., :parts]
    overlap = overlap.masked_fill(lost.to(overlap.device), torch.nan)
    unions = [
        overlap[..., [regions.row(part) for part in some]].mean(2, keepdim=True)
        for some in regions.unions.values()
    ]
    outside = torch.full((N, V), torch.nan)
    if regions.outside:
        outside = background_share(heat, masks[:, :, -1])
    found = {
        "lfr": local_focus_ratio(heat, each),
        "lsi": torch.cat([overlap, *unions], 2),
        "background": outside[..., None].expand(-1, -1, rows),
        "mass": mass_ratio(heat, each),
        "pointing": pointing_game(heat, each),
        "auc": mask_auc(heat, each),
    }
    shaped = {name: values.reshape(N, V, rows) for name, values in found.items()}
    for name, values in shaped.items():
        shaped[name] = values.masked_fill(~counted.to(values.device), torch.nan)
    shaped["counted"] = counted
    return [{name: values[:, v] for name, values in shaped.items()} for v in range(V)]


def _with_stand_ins(masks: Tensor) -> Tensor:
    """Replace masks, (N, V, R, H, W), without an inside or an outside by a single pixel.

    `usable` tells which these are.
    """
    area = masks.flatten(3).sum(3)
    unusable = (area == 0) | (area == masks[0, 0, 0].numel())
    if unusable.any():
        masks = masks.clone()
        pixel = torch.zeros_like(masks[0, 0, 0])
        pixel[0, 0] = True
        masks[unusable] = pixel
    return masks


def zero_maps(values: dict[str, Tensor], row: int) -> int:
    """Count images that have the region but whose map has no heat at all."""
    return int((values["lfr"][:, row].isnan() & values["counted"][:, row].to("cpu")).sum())


def summarise_regions(values: dict[str, Tensor], regions: Regions) -> list[dict[str, Number | str]]:
    """Sum up the values of `measure` over images, one row per region.

    Args:
        values: as `measure` returns them. Images that do not have a region are left out of it;
            those that lack a part of a union are left out of the union's LSI only.
        regions: as for `measure`.

    Returns:
        Rows in the order of ``regions.rows`` with `region`, `n` (images counted), `zero_maps` (of
        these) and means with zero maps left out; `_zeros_in`: with zero maps counted as 0.

    >>> from fer_lightning.data.regions import FACE
    >>> ones = torch.ones(3, 6)
    >>> lfr = torch.tensor([0.5, 2.0, torch.nan])[:, None].expand(3, 6)
    >>> values = dict.fromkeys(METRICS, ones) | {"lfr": lfr, "counted": ones.bool()}
    >>> row = summarise_regions(values, FACE)[4]
    >>> row["region"], row["n"], row["zero_maps"], row["lfr_mean"], row["lfr_share_ge_1"]
    ('key', 3, 1, 1.25, 0.5)
    """
    counted = values["counted"].cpu()
    numbers = {name: values[name].double().cpu() for name in METRICS}
    if counted.all():
        found = _summaries(numbers)
    else:
        found = []
        for i, keep in enumerate(counted.unbind(1)):
            kept = {name: of_all[keep, i : i + 1] for name, of_all in numbers.items()}
            found += _summaries(kept) if keep.any() else [_nothing(kept)]
    return [{"region": region, **row} for region, row in zip(regions.rows, found, strict=True)]


def _summaries(values: dict[str, Tensor]) -> list[dict[str, Number | str]]:
    """Sum up (N, R) values, one row per region; N is not 0."""
    lfr = summarise_ratio(values["lfr"])
    mean = {name: summarise(of_image)["mean"] for name, of_image in values.items() if name != "lfr"}
    columns = {
        "n": lfr["n"],
        "zero_maps": lfr["zero_maps"],
        "lfr_mean": lfr["mean"],
        "lfr_sd": lfr["sd"],
        "lfr_median": lfr["median"],
        "lfr_log_mean": lfr["log_mean"],
        "lfr_share_ge_1": lfr["share_ge_1"],
        "lfr_mean_zeros_in": lfr["mean_zeros_in"],
        "lfr_median_zeros_in": lfr["median_zeros_in"],
        "lfr_share_ge_1_zeros_in": lfr["share_ge_1_zeros_in"],
        "lsi": mean["lsi"],
        "lsi_zeros_in": values["lsi"].masked_fill(values["lfr"].isnan(), 0.0).nanmean(0),
        "background_share": mean["background"],
        "mass_ratio": mean["mass"],
        "pointing_game": mean["pointing"],
        "mask_auc": mean["auc"],
    }
    by_region = zip(*(column.tolist() for column in columns.values()), strict=True)
    return [dict(zip(columns, numbers, strict=True)) for numbers in by_region]


def _nothing(values: dict[str, Tensor]) -> dict[str, Number | str]:
    """Return the row of a region that no image has, eroded away maybe: there, without numbers."""
    names = _summaries({name: torch.full((1, 1), torch.nan) for name in values})[0]
    return {**dict.fromkeys(names, torch.nan), "n": 0, "zero_maps": 0}
