"""Everything that is measured of where a model looks, in one call."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from torch import Tensor, nn

from fer_lightning.controls.explainers import Method
from fer_lightning.controls.matching import GRID, match
from fer_lightning.controls.measure import ROWS, measure
from fer_lightning.controls.occlusion import Occlusion, answers, occlusion
from fer_lightning.controls.table import Row, Source, Target, check_inputs, map_sources, tabulate

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
