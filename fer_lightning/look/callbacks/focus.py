"""How much of a model's heat lies on the regions that matter, epoch by epoch."""

import csv
from collections.abc import Sequence
from typing import Any

import lightning as L
import numpy as np
import torch
from lightning.pytorch.utilities import rank_zero_warn
from torch import Tensor

from fer_lightning import keys
from fer_lightning.data.regions import Regions
from fer_lightning.look.callbacks.look import Look, LookContext, Probe
from fer_lightning.look.focus import (
    MODEL,
    Focus,
    Sample,
    hide_sample,
    measure_focus,
    model_maps,
    null_sources,
)
from fer_lightning.look.focus import tables_of as focus_tables
from fer_lightning.look.measure import measure, zero_maps
from fer_lightning.look.methods import by_each, find_method, find_methods
from fer_lightning.look.metrics import summarise, summarise_ratio
from fer_lightning.look.tables import to_csv
from fer_lightning.plots.focus import COLUMNS, focus_curves, focus_distribution
from fer_lightning.runs.files import DEFAULT_METHODS, FILES
from fer_lightning.runs.files import PAPER_METHOD as PAPER  # logged without its name


class FocusCallback(Look):
    """LFR of each region, LSI and background share, with null maps beside them.

    Training leaves ``focus_epochs.csv`` and ``focus/epoch_*.png`` (curves over epochs), the test
    ``focus.csv`` (all controls), ``focus_samples.csv``, ``hiding.csv``, ``maps.npz`` and
    ``focus/test.png``; each row names its method. Data without regions are left out with a note.

    Args:
        every_n_epochs: look after each n-th epoch of training.
        samples: number of images.
        seed: chooses the images.
        methods: attribution methods, see ``fer_lightning.list_methods()``; Grad-CAM and a cheap
            second one without it. One that the model cannot do is left out, which is said.
        face_template: measure another data module's pictures with the template of a face.
    """

    def __init__(
        self,
        every_n_epochs: int = 1,
        samples: int = 200,
        seed: int = 0,
        methods: Sequence[str] = DEFAULT_METHODS,
        face_template: bool = False,
    ) -> None:
        super().__init__(every_n_epochs, samples, seed)
        self.methods = find_methods(methods)
        self.face_template = face_template
        self.rows: list[dict[str, Any]] = []  # of focus_epochs.csv
        self.stage: str | None = None

    def setup(self, trainer: L.Trainer, pl_module: L.LightningModule, stage: str) -> None:
        """Remember whether this is training: only then is a checkpoint's state taken over."""
        self.stage = stage

    def state_dict(self) -> dict[str, Any]:
        """The curves so far, so that a resumed run continues them."""
        return {"rows": self.rows}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over the curves of an interrupted run."""
        if self.stage == "fit":
            self.rows = [{"method": PAPER, **row} for row in state_dict["rows"]]

    def look(self, context: LookContext) -> None:
        """Measure the probe images' maps, and in a test all controls."""
        sample, probe = context.sample(context.probe(self.samples, self.seed))
        if context.stage == "test":
            self._final(context, sample, probe)
            return
        found = by_each(
            self.methods, lambda name: model_maps(context.net, sample, method=name), self.leave_out
        )
        for method, own in found.items():
            known = any(row["method"] == method for row in self.rows)
            sources = [own] if known else [own, *null_sources(own, self.seed)]
            for source in sources:
                values = measure(source.heat, sample.masks, sample.regions)
                if source.name == MODEL:
                    context.log(logged(values, sample.regions, method))
                    self.rows += epoch_rows(values, sample.regions, method, MODEL, context.epoch)
                elif source.name != "mean_map":  # the only null that changes with the model
                    self.rows += epoch_rows(values, sample.regions, method, source.name, "")
        self._save_curves(context, sample.regions)

    def _save_curves(self, context: LookContext, regions: Regions) -> None:
        with context.writing(context.folder / FILES["focus_epochs"].name) as file:
            writer = csv.DictWriter(file, list(COLUMNS), lineterminator="\n")
            writer.writeheader()
            writer.writerows(self.rows)
        for method in self.methods:
            rows = [row for row in self.rows if row["method"] == method]
            title = f"Focus over epochs, {find_method(method).title}"
            kind = "focus" if method == self.methods[0] else f"focus_{method}"
            context.save(focus_curves(rows, regions, context.title(title)), kind)

    def _final(self, context: LookContext, sample: Sample, probe: Probe) -> None:
        files = [str(row) for row in probe.rows]
        if context.data is not None:
            files = [str(name) for name in context.data.image_set.files[probe.rows]]
        tables: dict[str, list[Any]] = {}
        heat = {}
        hidden = hide_sample(context.net, sample, self.seed)  # the same for every method

        def measured(method: str) -> Focus:
            found = measure_focus(context.net, sample, self.seed, method=method, hidden=hidden)
            doubt = find_method(method).doubt
            if doubt is not None and (words := doubt(context.net, sample.images)):
                rank_zero_warn(f"{find_method(method).title}: {words}")
            return found

        for method, found in by_each(self.methods, measured, self.leave_out).items():
            context.log(logged(found.values["native"], sample.regions, method))
            some = focus_tables(found, sample, probe.rows.tolist(), files, context.classes)
            for name, table in some.items():
                tables.setdefault(name, []).extend(table)
            heat[method] = found.sources[0].heat.numpy().astype(np.float16)
            lfr = {
                f"{s.name} {s.seed}" if s.name == "untrained" else s.name: measure(
                    s.heat, sample.masks, sample.regions
                )["lfr"].numpy()
                for s in found.sources
            }
            figure = focus_distribution(
                lfr,
                nulls=[name for name in lfr if name != MODEL],
                regions=sample.regions.rows,
                title=context.title(f"LFR of single images, {find_method(method).title}"),
            )
            context.save(figure, "focus" if method == self.methods[0] else f"focus_{method}")
        for name, table in tables.items():
            with context.writing(context.folder / FILES[name].name) as file:
                file.write(to_csv(table))
        first, *others = self.methods
        arrays: dict[str, Any] = {"heat": heat[first]}
        arrays |= {f"heat_{name}": heat[name] for name in others}
        with context.writing(context.folder / FILES["maps"].name, "wb") as file:
            np.savez_compressed(file, row=probe.rows, method=np.array(first), **arrays)
        rows = [list(row.values()) for row in tables["focus"]]
        for tracker in context.trackers:
            tracker.log_table(keys.FOCUS_TABLE, list(tables["focus"][0]), rows)


def logged(found: dict[str, Tensor], regions: Regions, method: str) -> dict[tuple[str, ...], float]:
    """Name the numbers of `measure` as they are logged; zero maps are left out and counted.

    The paper's method is logged as ``lfr/key``, any other as ``lfr/occlusion/key``.
    """
    place = () if method == PAPER else (method,)
    row = regions.row(regions.primary)
    numbers: dict[tuple[str, ...], float] = {
        (keys.LSI, *place): summarise(found["lsi"][:, row])["mean"].item(),
        (keys.ZERO_MAPS, *place): float(zero_maps(found, row)),
    }
    if regions.outside:
        background = summarise(found["background"][:, row])["mean"].item()
        numbers[keys.BACKGROUND, *place] = background
    for i, region in enumerate(regions.rows):
        lfr = summarise_ratio(found["lfr"][:, i][found["counted"][:, i]])
        numbers[keys.LFR, *place, region] = lfr["mean"].item()
        numbers[keys.LFR_MEDIAN, *place, region] = lfr["median"].item()
        numbers[keys.LFR_LOG, *place, region] = lfr["log_mean"].item()
        numbers[keys.LFR_SHARE, *place, region] = lfr["share_ge_1"].item()
    return numbers


def epoch_rows(
    found: dict[str, Tensor], regions: Regions, method: str, maps: str, epoch: int | str
) -> list[dict[str, Any]]:
    """Sum up one kind of map as rows of focus_epochs.csv."""
    row = regions.row(regions.primary)
    counted = found["counted"]
    columns = [
        ("lfr", region, found["lfr"][:, i][counted[:, i]]) for i, region in enumerate(regions.rows)
    ]
    others = ("lsi", "background") if regions.outside else ("lsi",)
    columns += [(name, "", found[name][:, row][counted[:, row]]) for name in others]
    return [
        {
            "epoch": epoch,
            "method": method,
            "maps": maps,
            "metric": metric,
            "region": region,
            **_spread(metric, values),
        }
        for metric, region, values in columns
    ]


def _spread(metric: str, values: Tensor) -> dict[str, float]:
    summary = summarise_ratio(values) if metric == "lfr" else summarise(values)
    wanted = ("n", "zero_maps", "mean", "sd", "median", "log_mean", "share_ge_1")
    numbers = {name: summary[name].item() for name in wanted if name in summary}
    q25, q75 = torch.nanquantile(values.double(), torch.tensor([0.25, 0.75], dtype=torch.float64))
    return numbers | {"q25": q25.item(), "q75": q75.item()}
