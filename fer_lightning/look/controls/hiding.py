"""The hiding test, our arbiter: what happens to the answer when a region is hidden?"""

from collections.abc import Sequence
from typing import Literal, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import conv2d, pad

from fer_lightning.data.regions import Regions
from fer_lightning.errors import UserError
from fer_lightning.look.frozen import BATCH, frozen_eval, plain
from fer_lightning.look.metrics.summary import pearson, spearman

# --- What is hidden from a model: patches of a given area, and what is put in their place


Fill = Literal["mean", "blur"]
BLUR = 1 / 8  # standard deviation as a share of the side: 6 pixels of 48, wider than an eye is high


def central_patch(area: Tensor, size: tuple[int, int]) -> Tensor:
    """Cover the middle of the picture with exactly so many pixels, as a square as nearly as can be.

    Args:
        area: (N,) pixels to cover.
        size: height and width.

    Returns:
        (N, H, W) bool.

    >>> central_patch(torch.tensor([4]), (4, 4))[0].int()
    tensor([[0, 0, 0, 0],
            [0, 1, 1, 0],
            [0, 1, 1, 0],
            [0, 0, 0, 0]], dtype=torch.int32)
    """
    middle = torch.tensor([(size[0] - 1) / 2, (size[1] - 1) / 2])
    return _nearest(middle.expand(len(area), 1, 2), area, size)


def random_patches(area: Tensor, size: tuple[int, int], pieces: int, seed: int) -> Tensor:
    """Cover exactly so many pixels with squares around random places.

    The squares of an image are equally large; where they overlap, all grow until the area is right.
    One that reaches over an edge goes on at the opposite one, so that every pixel is covered
    equally often, those of the key regions too.

    Args:
        area: (N,) pixels to cover.
        size: height and width.
        pieces: squares per image.
        seed: of the places.

    Returns:
        (N, H, W) bool.

    >>> random_patches(torch.tensor([50, 700]), (48, 48), pieces=3, seed=0).sum((1, 2)).tolist()
    [50, 700]
    """
    generator = torch.Generator().manual_seed(seed)
    share = torch.rand(len(area), pieces, 2, generator=generator)
    return _nearest(share * torch.tensor(size) - 0.5, area, size)


def _nearest(places: Tensor, area: Tensor, size: tuple[int, int]) -> Tensor:
    """Mark the `area` pixels nearest to any of the (N, K, 2) places, in the larger of dy and dx."""
    dy = (torch.arange(size[0]) - places[..., :1]).abs()  # (N, K, H)
    dx = (torch.arange(size[1]) - places[..., 1:]).abs()  # (N, K, W)
    dy, dx = torch.minimum(dy, size[0] - dy), torch.minimum(dx, size[1] - dx)  # around the edges
    distance = torch.maximum(dy[..., :, None], dx[..., None, :]).amin(1)  # (N, H, W)
    rank = distance.flatten(1).argsort(dim=1, stable=True).argsort(dim=1)
    return (rank < area.cpu()[:, None]).view_as(distance)


def hide(images: Tensor, hidden: Tensor, fill: Fill) -> Tensor:
    """Put the image's own mean, or its blurred self, in place of the hidden pixels.

    Args:
        images: (N, C, H, W) floats.
        hidden: (N, H, W) bool.
        fill: "mean" of each channel over the whole image, or Gaussian "blur".

    Raises:
        UserError: another fill.

    >>> image = torch.tensor([[[[0.0, 1.0], [2.0, 5.0]]]])
    >>> hide(image, torch.tensor([[[True, False], [False, False]]]), "mean")[0, 0].tolist()
    [[2.0, 1.0], [2.0, 5.0]]
    """
    if fill not in ("mean", "blur"):
        raise UserError(f"expected fill 'mean' or 'blur' but got {fill!r}; choose one of them")
    instead = images.mean((2, 3), keepdim=True) if fill == "mean" else blur(images)
    return torch.where(hidden[:, None].to(images.device), instead, images)


def blur(images: Tensor, share: float = BLUR) -> Tensor:
    """Blur with a Gaussian whose standard deviation is a share of the side; edges are mirrored."""
    C = images.shape[1]
    for axis in (2, 3):
        side = images.shape[axis]
        reach = min(round(3 * share * side), side - 1)  # mirroring cannot go further
        offset = torch.arange(-reach, reach + 1, device=images.device, dtype=images.dtype)
        weights = torch.exp(-0.5 * (offset / (share * side)) ** 2)
        kernel = (weights / weights.sum()).view((-1, 1) if axis == 2 else (1, -1))
        edges = (0, 0, reach, reach) if axis == 2 else (reach, reach, 0, 0)
        mirrored = pad(images, edges, mode="reflect")
        images = conv2d(mirrored, kernel.expand(C, 1, *kernel.shape), groups=C)
    return images


Row = dict[str, float | int | str]
FILLS: tuple[Fill, ...] = ("mean", "blur")
SEEDS = (0, 1, 2)
PIECES = 3  # squares of the random patches, as a face has two eyes with brows and a mouth


class Hiding(NamedTuple):
    """What hiding did.

    Args:
        rows: one for each region, patch, fill and seed.
        excess: (N,) by "<region>_<fill>": by how much more the centred logit of the true class
            dropped when the region was hidden than, on average, when random patches were.
    """

    rows: list[Row]
    excess: dict[str, Tensor]


def hidden_regions(masks: Tensor, regions: Regions) -> dict[str, Tensor]:
    """Return what is hidden, (N, H, W) each: the primary region, and all that is not the object.

    Args:
        masks: (N, R, H, W) bool in the order of `regions`.
        regions: of the data set; without an outside there is no background to hide.
    """
    hidden = {regions.primary: masks[:, regions.row(regions.primary)]}
    background = ~masks[:, -1]
    if regions.outside and background.flatten(1).any(1).all():
        hidden["background"] = background
    return hidden


def hide_regions(
    model: nn.Module,
    images: Tensor,
    labels: Tensor,
    masks: Tensor,
    regions: Regions,
    focus: dict[str, Tensor] | None = None,
    fills: Sequence[Fill] = FILLS,
    seeds: Sequence[int] = SEEDS,
    batch_size: int = BATCH,
) -> Hiding:
    """Hide regions, and for comparison random and central patches of exactly the same area.

    A model that reads the primary region loses more from hiding it than from as many pixels
    elsewhere; one that reads the background loses from the latter. This needs no map at all, and
    so tells whether maps can be believed.

    Args:
        model: a `VisionModel`, left as it was.
        images: (N, C, H, W) floats in [0, 1].
        labels: (N,) true classes.
        masks: (N, R, H, W) bool in the order of `regions`.
        regions: of the data set.
        focus: by region (the primary one, "background"), (N,) what the maps say of it, such as
            LFR; its correlation with the drop is reported. NaN (zero maps) is left out.
        fills: what is put in place of hidden pixels.
        seeds: of the random patches.
        batch_size: images in one forward pass.

    Returns:
        Rows with `region`, `patch` ("region", "random", "centre"), `fill`, `seed`, `n`,
        `area_share`, `covers` (share of the region that the patch hides), `acc`, `acc_hidden`,
        `acc_drop`, `logit_drop` (true class, mean), `logit_drop_sd`, `prob_drop`, `centred_drop`
        (of the logit minus the mean over classes, which a common shift of all logits leaves as it
        is); for the region itself also `logit_excess` and `centred_excess` over random patches and
        `spearman`, `pearson` of `focus` with the latter over `pairs` images.
    """
    before = answers(model, images, batch_size)
    size = (images.shape[2], images.shape[3])
    rows: list[Row] = []
    excess: dict[str, Tensor] = {}
    for region, mask in hidden_regions(masks.cpu(), regions).items():
        area = mask.sum((1, 2))
        patches = [("region", "", mask), ("centre", "", central_patch(area, size))]
        patches += [
            ("random", str(seed), random_patches(area, size, PIECES, seed)) for seed in seeds
        ]
        for fill in fills:
            found, drops = [], []
            for patch, seed, hidden in patches:
                after = answers(model, hide(images, hidden, fill), batch_size)
                row, drop = _compare(before, after, labels.cpu())
                covers = ((hidden & mask).sum((1, 2)) / area).double().mean().item()
                share = hidden.double().mean().item()
                names: Row = {"region": region, "patch": patch, "fill": fill, "seed": seed}
                found.append(names | {"area_share": share, "covers": covers} | row)
                drops.append(drop)
            extra = drops[0] - torch.stack(drops[2:]).mean(0)
            excess[f"{region}_{fill}"] = extra
            for name in ("logit", "centred"):
                whole, *others = (
                    float(row[f"{name}_drop"]) for row in found if row["patch"] != "centre"
                )
                found[0][f"{name}_excess"] = whole - sum(others) / len(others)
            if focus is not None and region in focus:
                found[0] |= correlate(focus[region], extra)
            rows += found
    return Hiding(rows, excess)


def correlate(focus: Tensor, drop: Tensor) -> Row:
    """Correlate what maps say with what hiding does, image by image; NaN is left out.

    >>> correlate(torch.tensor([1.0, 2.0, 9.0, torch.nan]), torch.tensor([0.0, 1.0, 2.0, 5.0]))
    {'spearman': 1.0, 'pearson': 0.9176..., 'pairs': 3}
    """
    focus, drop = focus.cpu().double(), drop.cpu().double()
    there = ~(focus.isnan() | drop.isnan())
    a, b = focus[there][None], drop[there][None]
    return {
        "spearman": spearman(a, b).item() if there.any() else torch.nan,
        "pearson": pearson(a, b).item() if there.any() else torch.nan,
        "pairs": int(there.sum()),
    }


def answers(model: nn.Module, images: Tensor, batch_size: int) -> Tensor:
    """Return a model's logits, (N, K), on the CPU; the model is left as it was."""
    with frozen_eval(model) as inner, torch.no_grad():
        return torch.cat([inner.forward(plain(part)).cpu() for part in images.split(batch_size)])


def _compare(before: Tensor, after: Tensor, labels: Tensor) -> tuple[Row, Tensor]:
    """Return a row of numbers, and by how much each true class's centred logit dropped, (N,)."""
    acc, acc_hidden = (
        (logits.argmax(1) == labels).double().mean().item() for logits in (before, after)
    )
    at = labels[:, None]
    apart = (before - after).double()
    drop = apart.gather(1, at)[:, 0]
    centred = drop - apart.mean(1)
    prob_drop = (before.softmax(1) - after.softmax(1)).gather(1, at).double().mean().item()
    row: Row = {
        "n": len(labels),
        "acc": acc,
        "acc_hidden": acc_hidden,
        "acc_drop": acc - acc_hidden,
        "logit_drop": drop.mean().item(),
        "logit_drop_sd": drop.std().item(),
        "centred_drop": centred.mean().item(),
        "prob_drop": prob_drop,
    }
    return row, centred
