"""How much of a model's heat lies on the face's key regions, epoch by epoch."""

import csv
from typing import Any

import lightning as L
import numpy as np
import torch
from torch import Tensor

from fer_lightning import keys
from fer_lightning.look.callbacks.look import Look, Probe, Scene
from fer_lightning.look.focus import map_sources, measure_focus, samples
from fer_lightning.look.measure import ROWS, measure
from fer_lightning.look.metrics import summarise, summarise_ratio
from fer_lightning.look.tables import to_csv
from fer_lightning.plots.focus import COLUMNS, MODEL, focus_curves, focus_distribution

KEY = ROWS.index("key")


class FocusCallback(Look):
    """LFR of each region, LSI and background share of Grad-CAM, with null maps beside them.

    Training leaves ``focus_epochs.csv`` and ``focus/epoch_*.png`` (curves over epochs), the test
    ``focus.csv`` (all controls), ``focus_samples.csv``, ``occlusion.csv``, ``maps.npz`` and
    ``focus/test.png``.
    """

    def __init__(self, every_n_epochs: int = 1, samples: int = 200, seed: int = 0) -> None:
        super().__init__(every_n_epochs, samples, seed)
        self.rows: list[dict[str, Any]] = []  # of focus_epochs.csv
        self.stage: str | None = None

    def setup(self, trainer: L.Trainer, pl_module: L.LightningModule, stage: str) -> None:
        """Remember whether this is training: only then is a checkpoint's state taken over."""
        self.stage = stage

    def state_dict(self) -> dict[str, Any]:
        """The curves so far, so that a resumed run goes on with them."""
        return {"rows": self.rows}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over the curves of an interrupted run."""
        if self.stage == "fit":
            self.rows = list(state_dict["rows"])

    def look(self, scene: Scene) -> None:
        """Measure the probe images' maps, and in a test all controls."""
        probe = scene.probe(self.samples, self.seed)
        masks = scene.masks(probe)
        if scene.stage == "test":
            self._final(scene, probe, masks)
            return
        sources = map_sources(
            scene.module.net, probe.images, probe.labels, self.seed, twin_seeds=()
        )
        values = {s.name: measure(s.heat, masks) for s in sources}
        scene.log(logged(values[MODEL]))
        self._add_epoch(scene, values)

    def _add_epoch(self, scene: Scene, values: dict[str, dict[str, Tensor]]) -> None:
        if not self.rows:  # the mean map is the only null that changes with the model
            for name, numbers in values.items():
                if name not in (MODEL, "mean_map"):
                    self.rows += epoch_rows(numbers, name, "")
        self.rows += epoch_rows(values[MODEL], MODEL, scene.epoch)
        with scene.writing(scene.folder / "focus_epochs.csv") as file:
            writer = csv.DictWriter(file, list(COLUMNS), lineterminator="\n")
            writer.writeheader()
            writer.writerows(self.rows)
        scene.save(focus_curves(self.rows, scene.title("Focus over epochs")), "focus")

    def _final(self, scene: Scene, probe: Probe, masks: Tensor) -> None:
        found = measure_focus(scene.module.net, probe.images, probe.labels, masks, self.seed)
        scene.log(logged(found.values["native"]))
        files = [str(name) for name in scene.data.image_set.files[probe.rows]]
        tables = {
            "focus.csv": found.table,
            "focus_samples.csv": samples(
                found, probe.labels, probe.rows.tolist(), files, scene.data.classes
            ),
            "occlusion.csv": found.hidden.rows,
        }
        for name, table in tables.items():
            with scene.writing(scene.folder / name) as file:
                file.write(to_csv(table))
        heat = found.sources[0].heat.numpy().astype(np.float16)
        with scene.writing(scene.folder / "maps.npz", "wb") as file:
            np.savez_compressed(file, row=probe.rows, heat=heat)
        lfr = {
            f"{s.name} {s.seed}" if s.name == "untrained" else s.name: measure(s.heat, masks)["lfr"]
            for s in found.sources
        }
        figure = focus_distribution(
            {name: values.numpy() for name, values in lfr.items()},
            nulls=[name for name in lfr if name != MODEL],
            regions=ROWS,
            title=scene.title("LFR of single images"),
        )
        scene.save(figure, "focus")
        rows = [list(row.values()) for row in found.table]
        for tracker in scene.trackers:
            tracker.log_table(keys.FOCUS_TABLE, list(found.table[0]), rows)


def logged(found: dict[str, Tensor]) -> dict[tuple[str, ...], float]:
    """Name the numbers of `measure` as they are logged; zero maps are left out and counted."""
    numbers: dict[tuple[str, ...], float] = {
        (keys.LSI,): summarise(found["lsi"][:, KEY])["mean"].item(),
        (keys.BACKGROUND,): summarise(found["background"][:, KEY])["mean"].item(),
        (keys.ZERO_MAPS,): float(torch.isnan(found["lfr"][:, KEY]).sum()),
    }
    for i, region in enumerate(ROWS):
        lfr = summarise_ratio(found["lfr"][:, i])
        numbers[keys.LFR, region] = lfr["mean"].item()
        numbers[keys.LFR_MEDIAN, region] = lfr["median"].item()
        numbers[keys.LFR_LOG, region] = lfr["log_mean"].item()
        numbers[keys.LFR_SHARE, region] = lfr["share_ge_1"].item()
    return numbers


def epoch_rows(found: dict[str, Tensor], maps: str, epoch: int | str) -> list[dict[str, Any]]:
    """Sum up one kind of map as rows of focus_epochs.csv."""
    columns = [("lfr", region, found["lfr"][:, i]) for i, region in enumerate(ROWS)]
    columns += [(name, "", found[name][:, KEY]) for name in ("lsi", "background")]
    return [
        {
            "epoch": epoch,
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
