"""Everything that is measured of where a model looks, in one call."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor, nn

from fer_lightning.data.masks import regions_word, template
from fer_lightning.data.regions import FACE, Regions
from fer_lightning.errors import UserError
from fer_lightning.look.controls.hiding import Hiding, answers, correlate, hide_regions
from fer_lightning.look.controls.masks import variants
from fer_lightning.look.controls.null_maps import SEEDS, null_maps, untrained_twin
from fer_lightning.look.frozen import BATCH
from fer_lightning.look.heat import GRID, match, to_heat
from fer_lightning.look.measure import measure, measure_variants, summarise_regions, usable
from fer_lightning.look.methods import explain

Target = Literal["predicted", "true"]
Controls = Literal["full", "maps"]  # with maps that know nothing beside them, or alone
Row = dict[str, float | int | str]
MODEL = "model"  # the name of a model's own maps beside those that know nothing


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


class Sample(NamedTuple):
    """The images that a model is asked about.

    Args:
        images: (N, C, H, W) floats in [0, 1] on the model's device.
        labels: (N,) true classes, on the CPU.
        masks: (N, R, H, W) bool in the order of `regions`.
        regions: of their data set.
        regions_from: where each image's masks come from, as `find_masks` says; empty if unknown.
    """

    images: Tensor
    labels: Tensor
    masks: Tensor
    regions: Regions
    regions_from: tuple[str, ...] = ()

    def check(self) -> None:
        """Refuse masks that do not belong to the images, before any map is made.

        Raises:
            UserError: another number, another size, other regions, or an image without the
                primary region.
        """
        N, size, order = len(self.images), tuple(self.images.shape[2:]), self.regions.order
        if tuple(self.masks.shape) != (N, len(order), *size) or self.masks.dtype != torch.bool:
            raise UserError(
                f"expected boolean masks of shape {(N, len(order), *size)} ({', '.join(order)}) "
                f"but got {self.masks.dtype} of shape {tuple(self.masks.shape)}; see "
                "fer_lightning.data.masks.masks_for"
            )
        if self.labels.shape != (N,):
            raise UserError(
                f"expected one label for each of {N} images but got shape "
                f"{tuple(self.labels.shape)}"
            )
        row = self.regions.row(self.regions.primary)
        useless = (~usable(self.masks, self.regions)[:, row]).nonzero().flatten().tolist()
        if useless:
            state = "a full" if self.masks[useless[0], row].any() else "an empty"
            raise UserError(
                f"expected masks with pixels inside and outside but got {state} "
                f"{self.regions.primary} mask for image {useless[0]} ({len(useless)} such "
                "masks); leave such images out"
            )


def model_maps(
    model: nn.Module,
    sample: Sample,
    target: Target = "predicted",
    method: str = "grad_cam",
    batch_size: int = BATCH,
) -> Source:
    """Make a model's own maps.

    Args:
        model: a `VisionModel`, left as it was.
        sample: the images.
        target: explain the class that the model predicts itself, or the true one.
        method: as for `explain`.
        batch_size: images in one pass.
    """
    images = sample.images
    wanted = sample.labels.to(images.device) if target == "true" else None
    signed = explain(model, images, wanted, method, batch_size)
    heat = to_heat(signed, (images.shape[2], images.shape[3])).cpu()
    return Source(MODEL, "", heat, f"{signed.shape[1]}x{signed.shape[2]}")


def null_sources(own: Source, seed: int = 0) -> list[Source]:
    """Make the maps that know nothing, for a model's maps on their own grid."""
    rows, columns = map(int, own.grid.split("x"))
    found = null_maps(own.heat, (rows, columns), seed)
    noise = "random_grid"
    return [
        Source(name, str(seed) if name == noise else "", maps, own.grid if name == noise else "")
        for name, maps in found.items()
    ]


def map_sources(
    model: nn.Module,
    sample: Sample,
    seed: int = 0,
    target: Target = "predicted",
    method: str = "grad_cam",
    twin_seeds: Sequence[int] = SEEDS,
    batch_size: int = BATCH,
) -> list[Source]:
    """Make the maps of a model and all null maps for it; the model's are the first.

    Args:
        model: a `VisionModel`, left as it was.
        sample: the images.
        seed: of the random maps.
        target: as for `model_maps`.
        method: as for `explain`.
        twin_seeds: of the untrained twins.
        batch_size: images in one pass.
    """
    own = model_maps(model, sample, target, method, batch_size)
    sources = [own, *null_sources(own, seed)]
    for twin_seed in twin_seeds:
        twin = untrained_twin(model, twin_seed)
        heat = model_maps(twin, sample, target, method, batch_size).heat
        sources.append(Source("untrained", str(twin_seed), heat, own.grid))
    return sources


def tabulate(
    sources: Sequence[Source],
    masks: Tensor,
    regions: Regions,
    seed: int = 0,
    grid: int = GRID,
    regions_from: Sequence[str] = (),
    controls: Controls = "full",
) -> list[Row]:
    """Measure all maps at their own and at one common resolution, under all variants of the masks.

    Args:
        sources: as `map_sources` makes them.
        masks: (N, R, H, W) bool in the order of `regions`.
        regions: of the data set.
        seed: of the shuffled masks.
        grid: cells along each side of the common resolution.
        regions_from: where each image's masks come from, as in `Sample`.
        controls: "maps" leaves out all variants of the masks but the given ones.

    Returns:
        Tidy rows: `source`, `seed`, `resolution` ("native" or "matched"), `grid`, `masks` ("given",
        "dilated", "eroded", "shuffled"; with landmarks also "accepted": only the images that have
        some, "template", "area_matched"), and what `summarise_regions` gives.
    """
    accepted = torch.tensor([word == "landmarks" for word in regions_from], dtype=torch.bool)
    fixed = _template(masks) if accepted.any() and regions is FACE else None
    given = masks.cpu()
    every: Mapping[Any, Tensor] = {"given": given}
    if controls == "full":
        every = variants(given, seed, fixed)
    stacked = torch.stack(list(every.values()), dim=1)  # (N, V, R, H, W)
    rows: list[Row] = []
    for source in sources:
        resolutions = (
            ("native", source.grid, source.heat),
            ("matched", f"{grid}x{grid}", match(source.heat, grid)),
        )
        for resolution, cells, heat in resolutions:
            found = measure_variants(heat, stacked, regions)
            measured: dict[str, dict[str, Tensor]] = dict(zip(every, found, strict=True))
            if fixed is not None and controls == "full":
                kept = {name: values[accepted] for name, values in measured["given"].items()}
                measured = {"given": measured.pop("given"), "accepted": kept, **measured}
            for variant, values in measured.items():
                names: Row = {
                    "source": source.name,
                    "seed": source.seed,
                    "resolution": resolution,
                    "grid": cells,
                    "masks": variant,
                }
                rows += [names | summary for summary in summarise_regions(values, regions)]
    return rows


def _template(masks: Tensor) -> Tensor:
    """The template for masks of this size, (R, H, W)."""
    found = template((masks.shape[-2], masks.shape[-1]))
    return torch.stack([torch.tensor(found[name]) for name in FACE.order])


def focus_table(
    model: nn.Module,
    sample: Sample,
    seed: int = 0,
    target: Target = "predicted",
    method: str = "grad_cam",
    twin_seeds: Sequence[int] = SEEDS,
    grid: int = GRID,
    batch_size: int = BATCH,
) -> list[Row]:
    """Return the tidy table of a model; arguments as for `map_sources` and `tabulate`.

    >>> from fer_lightning.data.regions import FACE
    >>> from fer_lightning.models import CNN
    >>> model = CNN(image_size=8, widths=(4, 4, 4, 4))
    >>> masks = torch.zeros(2, 7, 8, 8, dtype=torch.bool)
    >>> masks[:, :, :4] = True
    >>> sample = Sample(torch.rand(2, 1, 8, 8), torch.tensor([0, 3]), masks, FACE)
    >>> len(focus_table(model, sample))  # 10 kinds of maps, 2 resolutions, 3 masks, 6 regions
    360
    """
    sample.check()
    sources = map_sources(model, sample, seed, target, method, twin_seeds, batch_size)
    return tabulate(sources, sample.masks, sample.regions, seed, grid, sample.regions_from)


class Focus(NamedTuple):
    """What `measure_focus` found.

    Args:
        sources: the model's maps first, then those that know nothing.
        table: rows of `tabulate`, all controls of the maps.
        values: of the model's maps, by resolution ("native", "matched"), what `measure` gives.
        hidden: what hiding regions did.
        predicted: (N,) classes.
        method: how the maps were made.
        regions: of the data set.
    """

    sources: list[Source]
    table: list[Row]
    values: dict[str, dict[str, Tensor]]
    hidden: Hiding
    predicted: Tensor
    method: str
    regions: Regions


def measure_focus(
    model: nn.Module,
    sample: Sample,
    seed: int = 0,
    target: Target = "predicted",
    method: str = "grad_cam",
    grid: int = GRID,
    batch_size: int = BATCH,
    controls: Controls = "full",
    hidden: Hiding | None = None,
) -> Focus:
    """Measure a model's maps with all controls, and what hiding regions does.

    Args:
        model: a `VisionModel`, left as it was.
        sample: the images.
        seed: of noise and random patches.
        target: explain the class that the model predicts, or the true one.
        method: the kind of map.
        grid: cells along each side of matched maps.
        batch_size: images in one pass.
        controls: "maps" measures the model's own maps alone: no null maps, no untrained twins, no
            other variants of the masks.
        hidden: what `hide_sample` found, which does not depend on the method.

    Raises:
        UserError: masks that do not belong to the images.
    """
    sample.check()
    regions = sample.regions
    ways: dict[str, Any] = {"target": target, "method": method, "batch_size": batch_size}
    if controls == "full":
        sources = map_sources(model, sample, seed, **ways)
    else:
        sources = [model_maps(model, sample, **ways)]
    heat = {"native": sources[0].heat, "matched": match(sources[0].heat, grid)}
    values = {name: measure(maps, sample.masks, regions) for name, maps in heat.items()}
    row = regions.row(regions.primary)
    said = {"lfr": regions.primary, "background": "background"}
    hidden = hide_sample(model, sample, seed, batch_size) if hidden is None else hidden
    hidden = correlated(
        hidden, {region: values["native"][name][:, row] for name, region in said.items()}
    )
    predicted = answers(model, sample.images, batch_size).argmax(1)
    table = tabulate(sources, sample.masks, regions, seed, grid, sample.regions_from, controls)
    return Focus(sources, table, values, hidden, predicted, method, regions)


def hide_sample(model: nn.Module, sample: Sample, seed: int = 0, batch_size: int = BATCH) -> Hiding:
    """Hide the regions of a sample once, whatever the methods that are then compared with it."""
    return hide_regions(
        model,
        sample.images,
        sample.labels,
        sample.masks,
        sample.regions,
        seeds=range(seed, seed + 3),
        batch_size=batch_size,
    )


def correlated(hidden: Hiding, focus: Mapping[str, Tensor]) -> Hiding:
    """Add to the rows of hidden regions how well a method's maps foretell what hiding did.

    Args:
        hidden: as `hide_regions` returns it.
        focus: by region, (N,) what the maps say of it.
    """
    rows = [
        row | correlate(focus[str(row["region"])], hidden.excess[f"{row['region']}_{row['fill']}"])
        if row["patch"] == "region" and row["region"] in focus
        else row
        for row in hidden.rows
    ]
    return Hiding(rows, hidden.excess)


def tables_of(
    found: Focus, sample: Sample, rows: Sequence[int], files: Sequence[str], classes: Sequence[str]
) -> dict[str, list[Row]]:
    """Return the tables of a run folder by name, each row with the method that made the maps.

    Args:
        found: of N images.
        sample: the images.
        rows: their places in the data set.
        files: their names.
        classes: names of the classes.
    """
    tables = {
        "focus": with_regions_from(found.table, sample.regions_from),
        "focus_samples": [
            {**row, "regions_from": sample.regions_from[i // len(found.values)]}
            if sample.regions_from
            else row
            for i, row in enumerate(sample_rows(found, sample.labels, rows, files, classes))
        ],
        "hiding": found.hidden.rows,
    }
    return {name: with_method(table, found.method) for name, table in tables.items()}


def with_regions_from(rows: Sequence[Row], regions_from: Sequence[str]) -> list[Row]:
    """Say in each row of the focus table which regions it is about.

    >>> with_regions_from([{"masks": "given"}, {"masks": "template"}], ["landmarks"])[1]
    {'masks': 'template', 'regions_from': 'template'}
    """
    word = regions_word(regions_from)
    if not word:
        return list(rows)
    return [
        {**row, "regions_from": "template" if row["masks"] == "template" else word} for row in rows
    ]


def with_method(rows: Sequence[Row], method: str) -> list[Row]:
    """Put the method's name before each row.

    >>> with_method([{"source": "model"}], "occlusion")
    [{'method': 'occlusion', 'source': 'model'}]
    """
    return [{"method": method, **row} for row in rows]


def sample_rows(
    found: Focus,
    labels: Tensor,
    rows: Sequence[int],
    files: Sequence[str],
    classes: Sequence[str],
) -> list[Row]:
    """Return one row for each image and resolution: its focus numbers and what hiding did.

    For each region `lfr_`, `lsi_`, `mass_` (mass ratio) and `auc_` (mask AUC); and by how much more
    the true class's centred logit dropped than under random patches, `centred_<region>_<fill>`.
    """
    table: list[Row] = []
    primary = found.regions.row(found.regions.primary)
    for i, (row, file, label) in enumerate(zip(rows, files, labels.tolist(), strict=True)):
        about: Row = {
            "row": row,
            "file": file,
            "label": classes[label],
            "predicted": classes[int(found.predicted[i])],
            "correct": int(found.predicted[i] == label),
        }
        drops: Row = {
            f"centred_{name}": drop[i].item() for name, drop in found.hidden.excess.items()
        }
        for resolution, numbers in found.values.items():
            focus = {
                f"{name}_{region}": numbers[name][i, r].item()
                for name in ("lfr", "lsi", "mass", "auc")
                for r, region in enumerate(found.regions.rows)
            }
            background = numbers["background"][i, primary].item()
            here: Row = {"resolution": resolution, **focus, "background_share": background}
            table.append(about | here | drops)
    return table
