"""All focus numbers of a stack of maps: image by image, and summed up region by region."""

import torch
from torch import Tensor

from fer_lightning.data.regions import ORDER
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
ROWS = ("eyes", "mouth", "eyebrow", "nose", "key", "all")  # of the table, in the paper's order
PARTS = {"key": ("eyes", "mouth", "eyebrow"), "all": ("eyes", "mouth", "eyebrow", "nose")}
FACE = ORDER.index("face")


def usable(masks: Tensor) -> Tensor:
    """Tell for which images and regions a mask has an inside and an outside, and so has the face.

    Args:
        masks: (N, 7, H, W) in `ORDER`.

    Returns:
        (N, 6) bool in the order of `ROWS`.
    """
    area = masks.flatten(2).sum(2)
    fine = (area > 0) & (area < masks[0, 0].numel())
    return fine[:, [ORDER.index(name) for name in ROWS]] & fine[:, FACE, None]


def measure(heat: Tensor, masks: Tensor, threshold: float = 0.5) -> dict[str, Tensor]:
    """Compute every focus number of each image.

    Args:
        heat: (N, H, W) finite and not negative.
        masks: (N, 7, H, W) bool in `ORDER`.
        threshold: share of a map's maximum from which a pixel is hot, for LSI.

    Returns:
        By name, (N, 6) in the order of `ROWS`, NaN for a zero map: `lfr`, `lsi` (the overlap of a
        single region; its mean over eyes, eyebrow and mouth for KEY, over these and the nose for
        ALL), `mass` (mass ratio), `pointing`, `auc`, and `background` (alike for each region).

    Raises:
        UserError: NaN or negative heat; masks of another size, empty or full.

    >>> heat, masks = torch.ones(2, 4, 4), torch.zeros(2, 7, 4, 4, dtype=torch.bool)
    >>> masks[:, :, :2] = True
    >>> measure(heat, masks)["mass"][0].tolist()
    [1.0, 1.0, 1.0, 1.0, 1.0, 1.0]
    """
    return measure_variants(heat, masks[:, None], threshold)[0]


def measure_variants(
    heat: Tensor, masks: Tensor, threshold: float = 0.5
) -> list[dict[str, Tensor]]:
    """Compute what `measure` does under several masks at once, which ranks each map only once.

    Args:
        heat: (N, H, W).
        masks: (N, V, 7, H, W).
        threshold: as for `measure`.

    Returns:
        V times what `measure` returns.
    """
    V = masks.shape[1]
    regions = masks[:, :, [ORDER.index(name) for name in ROWS]].flatten(1, 2)  # (N, V * 6, H, W)
    single = masks[:, :, [ORDER.index(name) for name in ROWS[:4]]].flatten(1, 2)
    overlap = region_overlap(heat, single, threshold).unflatten(1, (V, 4))
    of_whole = [overlap[..., [ROWS.index(name) for name in PARTS[whole]]] for whole in PARTS]
    background = background_share(heat, masks[:, :, FACE])
    found = {
        "lfr": local_focus_ratio(heat, regions),
        "lsi": torch.cat([overlap, *(part.mean(2, keepdim=True) for part in of_whole)], 2),
        "background": background[..., None].expand(-1, -1, len(ROWS)),
        "mass": mass_ratio(heat, regions),
        "pointing": pointing_game(heat, regions),
        "auc": mask_auc(heat, regions),
    }
    shaped = {name: values.reshape(len(heat), V, len(ROWS)) for name, values in found.items()}
    return [{name: values[:, v] for name, values in shaped.items()} for v in range(V)]


def with_stand_ins(masks: Tensor) -> Tensor:
    """Replace masks, (N, 7, H, W), without an inside or an outside by a single pixel.

    `usable` tells which these are.
    """
    area = masks.flatten(2).sum(2)
    masks = masks.clone()
    pixel = torch.zeros_like(masks[0, 0])
    pixel[0, 0] = True
    masks[(area == 0) | (area == pixel.numel())] = pixel
    return masks


def summarise_regions(
    values: dict[str, Tensor], counted: Tensor | None = None
) -> list[dict[str, Number | str]]:
    """Sum up the values of `measure` over images, one row a region.

    Args:
        values: as `measure` returns them.
        counted: (N, 6) which images count for a region, as `usable` tells; all by default. Where a
            part of KEY or ALL does not count, the image is left out of their LSI only.

    Returns:
        Rows in the order of `ROWS` with `region`, `n` (images counted), `zero_maps` (of these) and
        means with zero maps left out; `_zeros_in`: with zero maps counted as 0.

    >>> ones = torch.ones(3, 6)
    >>> lfr = torch.tensor([0.5, 2.0, torch.nan])[:, None].expand(3, 6)
    >>> names = ("lsi", "background", "mass", "pointing", "auc")
    >>> row = summarise_regions({"lfr": lfr, **dict.fromkeys(names, ones)})[4]
    >>> row["region"], row["n"], row["zero_maps"], row["lfr_mean"], row["lfr_share_ge_1"]
    ('key', 3, 1, 1.25, 0.5)
    """
    if counted is None or counted.all():
        found = _summaries({name: of_all.double() for name, of_all in values.items()})
    else:
        found = []
        counted = counted.cpu()
        values = values | {"lsi": _of_whole_parts(values["lsi"], counted)}
        for i, keep in enumerate(counted.unbind(1)):
            kept = {name: of_all[keep, i : i + 1].double() for name, of_all in values.items()}
            found += _summaries(kept) if keep.any() else [_nothing(kept)]
    return [{"region": region, **row} for region, row in zip(ROWS, found, strict=True)]


def _of_whole_parts(lsi: Tensor, counted: Tensor) -> Tensor:
    """Blank the LSI, (N, 6), of KEY and ALL where one of their parts does not count."""
    lsi = lsi.clone()
    for whole, parts in PARTS.items():
        lost = ~counted[:, [ROWS.index(name) for name in parts]].all(1)
        lsi[lost, ROWS.index(whole)] = torch.nan
    return lsi


def _summaries(values: dict[str, Tensor]) -> list[dict[str, Number | str]]:
    """Sum up (N, R) values, one row a region; N is not 0."""
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
    """Return the row of a region that was eroded away in every image: there, without numbers."""
    names = _summaries({name: torch.full((1, 1), torch.nan) for name in values})[0]
    return {**dict.fromkeys(names, torch.nan), "n": 0, "zero_maps": 0}
