"""Everything that is measured of where a model looks, in one call."""

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor, nn

from fer_lightning.data.regions import ORDER
from fer_lightning.errors import UserError
from fer_lightning.look.controls.hiding import Occlusion, answers, occlusion
from fer_lightning.look.controls.masks import variants
from fer_lightning.look.controls.null_maps import SEEDS, null_maps, untrained_twin
from fer_lightning.look.heat import GRID, match, to_heat
from fer_lightning.look.measure import (
    ROWS,
    measure,
    measure_variants,
    summarise_regions,
    usable,
    with_stand_ins,
)
from fer_lightning.look.methods import Method, explain

# --- The table of a checkpoint: its focus numbers beside those of maps that know nothing


Target = Literal["predicted", "true"]
Row = dict[str, float | int | str]


class Source(NamedTuple):
    """Maps of one origin.

    Args:
        name: "model", the name of a null map, or "untrained".
        seed: of what is random in it, else empty.
        heat: (N, H, W).
        grid: "24x24": rows and columns before scaling up; empty where maps have none.
    """

    name: str
    seed: str
    heat: Tensor
    grid: str = ""


def map_sources(
    model: nn.Module,
    images: Tensor,
    labels: Tensor,
    seed: int = 0,
    target: Target = "predicted",
    method: Method = "grad_cam",
    twin_seeds: Sequence[int] = SEEDS,
    batch_size: int = 256,
) -> list[Source]:
    """Make the maps of a model and all null maps for it; the model's are the first.

    Args:
        model: a `VisionModel`, left as it was.
        images: (N, C, H, W) floats in [0, 1] on the model's device.
        labels: (N,) true classes.
        seed: of the random maps.
        target: explain the class that each model predicts itself, or the true one.
        method: as for `explain`.
        twin_seeds: of the untrained twins.
        batch_size: images in one pass.
    """
    wanted = labels.to(images.device) if target == "true" else None
    size = (images.shape[2], images.shape[3])
    signed = explain(model, images, wanted, method, batch_size)
    grid = (signed.shape[1], signed.shape[2])
    native = f"{grid[0]}x{grid[1]}"
    heat = to_heat(signed, size).cpu()
    sources = [Source("model", "", heat, native)]
    for name, maps in null_maps(heat, grid, seed).items():
        noise = name == "random_grid"
        sources.append(Source(name, str(seed) if noise else "", maps, native if noise else ""))
    for twin_seed in twin_seeds:
        twin = untrained_twin(model, twin_seed)
        signed = explain(twin, images, wanted, method, batch_size)
        sources.append(Source("untrained", str(twin_seed), to_heat(signed, size).cpu(), native))
    return sources


def tabulate(
    sources: Sequence[Source], masks: Tensor, seed: int = 0, grid: int = GRID
) -> list[Row]:
    """Measure all maps at their own and at one common resolution, under all variants of the masks.

    Args:
        sources: as `map_sources` makes them.
        masks: (N, 7, H, W) bool in `ORDER`.
        seed: of the shuffled masks.
        grid: cells along each side of the common resolution.

    Returns:
        Tidy rows: `source`, `seed`, `grid`, `resolution` ("native" or "matched"), `masks`
        ("given", "dilated", "eroded", "shuffled"), and what `summarise_regions` gives.
    """
    masks = masks.cpu()
    every = variants(masks, seed)
    counted = [usable(changed) for changed in every.values()]
    # given masks must be usable; others may have been eroded away
    changed = [m if name == "given" else with_stand_ins(m) for name, m in every.items()]
    stacked = torch.stack(changed, dim=1)  # (N, V, 7, H, W)
    rows: list[Row] = []
    for source in sources:
        resolutions = (
            ("native", source.grid, source.heat),
            ("matched", f"{grid}x{grid}", match(source.heat, grid)),
        )
        for resolution, cells, heat in resolutions:
            found = measure_variants(heat, stacked)
            for variant, values, count in zip(every, found, counted, strict=True):
                names: Row = {
                    "source": source.name,
                    "seed": source.seed,
                    "resolution": resolution,
                    "grid": cells,
                    "masks": variant,
                }
                rows += [names | summary for summary in summarise_regions(values, count)]
    return rows


def focus_table(
    model: nn.Module,
    images: Tensor,
    masks: Tensor,
    labels: Tensor,
    seed: int = 0,
    target: Target = "predicted",
    method: Method = "grad_cam",
    twin_seeds: Sequence[int] = SEEDS,
    grid: int = GRID,
    batch_size: int = 256,
) -> list[Row]:
    """Return the tidy table of a model; arguments as for `map_sources` and `tabulate`.

    >>> from fer_lightning.models import CNN
    >>> model = CNN(image_size=8, widths=(4, 4, 4, 4))
    >>> masks = torch.zeros(2, 7, 8, 8, dtype=torch.bool)
    >>> masks[:, :, :4] = True
    >>> rows = focus_table(model, torch.rand(2, 1, 8, 8), masks, torch.tensor([0, 3]))
    >>> len(rows)  # 10 kinds of maps, 2 resolutions, 3 variants of masks, 6 regions
    360
    """
    check_inputs(images, masks, labels)
    sources = map_sources(
        model, images, labels, seed, target, method, twin_seeds, batch_size=batch_size
    )
    return tabulate(sources, masks, seed, grid)


def check_inputs(images: Tensor, masks: Tensor, labels: Tensor) -> None:
    """Refuse masks that do not belong to the images, before any map is made.

    Raises:
        UserError: another number, another size, other regions, or an empty or full mask.
    """
    N, size = len(images), tuple(images.shape[2:])
    if tuple(masks.shape) != (N, len(ORDER), *size) or masks.dtype != torch.bool:
        raise UserError(
            f"expected boolean masks of shape {(N, len(ORDER), *size)} ({', '.join(ORDER)}) but "
            f"got {masks.dtype} of shape {tuple(masks.shape)}; see data.regions.masks_for"
        )
    if labels.shape != (N,):
        raise UserError(
            f"expected one label for each of {N} images but got shape {tuple(labels.shape)}"
        )
    area = masks.flatten(2).sum(2)
    useless = ((area == 0) | (area == masks[0, 0].numel())).nonzero().tolist()
    if useless:
        image, region = useless[0]
        state = "an empty" if area[image, region] == 0 else "a full"
        raise UserError(
            f"expected masks with pixels inside and outside but got {state} {ORDER[region]} mask "
            f"for image {image} ({len(useless)} such masks); leave such images out"
        )


KEY = ROWS.index("key")


class Focus(NamedTuple):
    """What `measure_focus` found.

    Args:
        sources: the model's maps first, then those that know nothing.
        table: rows of `tabulate`, all controls of the maps.
        values: of the model's maps, by resolution ("native", "matched"), what `measure` gives.
        hidden: what hiding regions did.
        predicted: (N,) classes.
    """

    sources: list[Source]
    table: list[Row]
    values: dict[str, dict[str, Tensor]]
    hidden: Occlusion
    predicted: Tensor


def measure_focus(
    model: nn.Module,
    images: Tensor,
    labels: Tensor,
    masks: Tensor,
    seed: int = 0,
    target: Target = "predicted",
    method: Method = "grad_cam",
    grid: int = GRID,
    batch_size: int = 256,
) -> Focus:
    """Measure a model's maps with all controls, and what hiding regions does.

    Args:
        model: a `VisionModel`, left as it was.
        images: (N, C, H, W) floats in [0, 1] on the model's device.
        labels: (N,) true classes, on the CPU.
        masks: (N, 7, H, W) bool in the regions' order.
        seed: of noise and random patches.
        target: explain the class that the model predicts, or the true one.
        method: the kind of map.
        grid: cells along each side of matched maps.
        batch_size: images in one pass.

    Raises:
        UserError: masks that do not belong to the images.
    """
    check_inputs(images, masks, labels)
    ways: dict[str, Any] = {"target": target, "method": method, "batch_size": batch_size}
    sources = map_sources(model, images, labels, seed, **ways)
    heat = {"native": sources[0].heat, "matched": match(sources[0].heat, grid)}
    values = {name: measure(maps, masks) for name, maps in heat.items()}
    focus = {name: values["native"][name][:, KEY] for name in ("lfr", "background")}
    hidden = occlusion(
        model,
        images,
        labels,
        masks,
        {"key": focus["lfr"], "background": focus["background"]},
        seeds=range(seed, seed + 3),
        batch_size=batch_size,
    )
    predicted = answers(model, images, batch_size).argmax(1)
    return Focus(sources, tabulate(sources, masks, seed, grid), values, hidden, predicted)


def samples(
    found: Focus,
    labels: Tensor,
    rows: Sequence[int],
    files: Sequence[str],
    classes: Sequence[str],
) -> list[Row]:
    """Return one row for each image and resolution: its focus numbers and what hiding did.

    Args:
        found: of N images.
        labels: (N,) true classes.
        rows: their places in the data set.
        files: their names.
        classes: names of the classes.
    """
    table: list[Row] = []
    for i, (row, file, label) in enumerate(zip(rows, files, labels.tolist(), strict=True)):
        about: Row = {
            "row": row,
            "file": file,
            "label": classes[label],
            "predicted": classes[int(found.predicted[i])],
            "correct": int(found.predicted[i] == label),
        }
        drops: Row = {
            f"excess_{name}": drop[i].item() for name, drop in found.hidden.excess.items()
        }
        for resolution, numbers in found.values.items():
            focus = {
                f"{name}_{region}": numbers[name][i, r].item()
                for name in ("lfr", "lsi")
                for r, region in enumerate(ROWS)
            }
            background = numbers["background"][i, KEY].item()
            here: Row = {"resolution": resolution, **focus, "background_share": background}
            table.append(about | here | drops)
    return table
