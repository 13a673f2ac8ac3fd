"""Where a model looks in some pictures: maps, focus numbers with null rows, and figures."""

import io
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch
from matplotlib.figure import Figure
from numpy.typing import NDArray
from torch import Tensor

from fer_lightning.data.augment import to_float
from fer_lightning.data.datamodule import View
from fer_lightning.data.masks import find_masks, regions_of
from fer_lightning.data.regions import Regions
from fer_lightning.errors import UserError
from fer_lightning.look.controls.hiding import answers
from fer_lightning.look.focus import Focus, Sample, Target, measure_focus, tables_of
from fer_lightning.look.frozen import BATCH
from fer_lightning.look.heat import to_heat
from fer_lightning.look.measure import usable
from fer_lightning.look.methods import explain, find_method
from fer_lightning.look.overlay import as_rgb, draw_overlay, for_drawing
from fer_lightning.models import VisionModel, name_of
from fer_lightning.plots.focus import focus_by_method
from fer_lightning.plots.galleries import picture_maps

DPI = 110  # of a figure in a notebook


@dataclass(frozen=True, repr=False)
class Looked:
    """What `look` found in N pictures.

    Args:
        model: its name.
        view: the pictures.
        maps: heat by method, (N, H, W), from 0 to 1, the maximum of each map.
        probabilities: (N, K) of the classes.
        masks: (N, R, H, W) in the order of `regions`; None where the data have none.
        regions_from: where the masks of each picture come from: "exact", "label maps", "landmarks"
            or "template".
        regions: of the data; None where they have none.
        measured: places of the pictures with focus numbers; a plate without a defect has none.
        focus: all that was measured of them, by method.
        why_no_focus: one sentence where nothing could be measured.
    """

    model: str
    view: View
    maps: dict[str, NDArray[np.float32]]
    probabilities: NDArray[np.float32]
    masks: NDArray[np.bool_] | None
    regions: Regions | None
    measured: NDArray[np.int64]
    focus: dict[str, Focus]
    why_no_focus: str
    regions_from: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"Looked({self.model} at {self.view} by {', '.join(self.maps)})"

    @property
    def methods(self) -> list[str]:
        """How the maps were made."""
        return list(self.maps)

    def table(self, resolution: str | None = "native", masks: str | None = "given") -> pd.DataFrame:
        """Focus numbers by method, source and region; every source but "model" knows nothing.

        Args:
            resolution: "native", "matched" (maps of all models at one resolution), None for both.
            masks: "given", "dilated", "eroded" or "shuffled" masks; with landmarks also "accepted",
                "template" and "area_matched"; None for all.

        Raises:
            UserError: the data have no regions.
        """
        table = self._table("focus")
        for column, wanted in (("resolution", resolution), ("masks", masks)):
            if wanted is not None:
                table = table[table[column] == wanted]
        return table.reset_index(drop=True)

    def samples(self) -> pd.DataFrame:
        """Focus numbers of single pictures, and what hiding each region did to their answer."""
        return self._table("focus_samples")

    def hiding(self) -> pd.DataFrame:
        """What hiding each region does to the accuracy, beside hiding random patches."""
        return self._table("hiding")

    def _table(self, name: str) -> pd.DataFrame:
        if not self.focus:
            raise UserError(self.why_no_focus)
        view = self.view[self.measured]
        rows = []
        for found in self.focus.values():
            assert self.masks is not None
            sample = Sample(
                torch.empty(0),
                torch.from_numpy(view.labels),
                torch.from_numpy(self.masks[self.measured]),
                found.regions,
                tuple(self.regions_from[i] for i in self.measured),
            )
            rows += tables_of(found, sample, view.rows.tolist(), view.files, view.classes)[name]
        return pd.DataFrame(rows)

    def lfr(self, i: int, method: str) -> float | None:
        """How much hotter the primary region of picture i is than the rest; None if unknown."""
        place = np.flatnonzero(self.measured == i)
        if not len(place):
            return None
        found = self.focus[method]
        row = found.regions.row(found.regions.primary)
        return found.values["native"]["lfr"][int(place[0]), row].item()

    def show(self, i: int = 0) -> Figure:
        """Draw picture i, its maps by method, its regions, and the LFR of the primary region.

        Raises:
            UserError: there is no such picture.
        """
        picture, label = self.view[i]
        i = range(len(self.view))[i]
        overlays, titles = [], []
        for name, maps in self.maps.items():
            method = find_method(name)
            heat = for_drawing(torch.from_numpy(maps[i]), method.single_pixels)
            overlays.append(draw_overlay(picture, heat, contours=False, boxes=False))
            titles.append(f"{method.title}\n{self._lfr_in_words(i, name)}")
        answer = int(self.probabilities[i].argmax())
        classes = self.view.classes
        figure = picture_maps(
            as_rgb(picture),
            overlays,
            titles,
            self._outlines(i),
            f"{classes[label]}; {self.model} says {classes[answer]} "
            f"({self.probabilities[i, answer]:.0%})",
        )
        figure._repr_png_ = lambda: _png(figure)  # type: ignore[attr-defined]  # for notebooks
        return figure

    def plot(self, resolution: str = "matched") -> Figure:
        """Draw the LFR of all pictures by region and method.

        Args:
            resolution: "native", or "matched": maps of all models and methods at one resolution.

        Raises:
            UserError: the data have no regions.
        """
        samples = self.samples()
        assert self.regions is not None
        samples = samples[samples["resolution"] == resolution]
        figure = focus_by_method(samples, self.regions.rows, f"{self.model}, {self.view!r}")
        figure._repr_png_ = lambda: _png(figure)  # type: ignore[attr-defined]  # for notebooks
        return figure

    def _lfr_in_words(self, i: int, method: str) -> str:
        if not self.maps[method][i].any():
            return "no heat"
        lfr = self.lfr(i, method)
        if lfr is None or self.regions is None:
            return ""
        return f"LFR {self.regions.title(self.regions.primary)} {lfr:.2f}"

    def _outlines(self, i: int) -> dict[str, NDArray[np.bool_]]:
        """The parts, and not their unions, which would hide them."""
        if self.masks is None or self.regions is None:
            return {}
        order = self.regions.order
        return {name: self.masks[i, order.index(name)] for name in self.regions.base}


def look(
    model: VisionModel,
    view: View,
    methods: Sequence[str] = ("grad_cam",),
    seed: int = 0,
    target: Target = "predicted",
    batch_size: int = BATCH,
) -> Looked:
    """Ask a model where it looks, by several methods, and measure the answers beside null maps.

    The model is left as it was.

    Args:
        model: for the pictures' size, channels and classes.
        view: pictures such as ``data.test[:200]``.
        methods: names of ``list_methods()``.
        seed: of the null maps and of random patches.
        target: explain the class that the model predicts, or the true one.
        batch_size: pictures in one pass.

    Raises:
        UserError: no pictures, an unknown method, or one that the model has no maps for.

    >>> from fer_lightning.api.data import drawn_faces
    >>> from fer_lightning.models import create_model
    >>> faces = drawn_faces(40, image_size=32)
    >>> found = look(create_model("cnn", **faces.sizes), faces.test[:3], ["grad_cam"])
    >>> found.maps["grad_cam"].shape, sorted(set(found.table()["region"]))[:3]
    ((3, 32, 32), ['all', 'eyebrow', 'eyes'])
    >>> found.show(0).get_suptitle().split("; ")[1][:3]
    'cnn'
    """
    names = [find_method(name).name for name in methods]
    if not isinstance(view, View) or not len(view) or not names:
        raise UserError(
            f"expected pictures and at least one method but got {view!r:.60} and {names}; give "
            "for example data.test[:200]"
        )
    device = next(model.parameters()).device
    images = to_float(torch.from_numpy(view.images)).to(device)
    labels = torch.from_numpy(view.labels)
    masks, regions, words, why = _masks(view)
    measured = _measurable(masks, regions)
    if regions is not None and not len(measured):
        why = (
            f"expected pictures with '{regions.primary}' but none of {len(view)} has any of it; "
            "look at more pictures"
        )
    focus, maps = {}, {}
    for name in names:
        heat = torch.zeros(len(view), *images.shape[2:])
        rest = np.setdiff1d(np.arange(len(view)), measured)
        if len(measured) and masks is not None and regions is not None:
            sample = Sample(
                images[measured],
                labels[measured],
                torch.from_numpy(masks[measured]),
                regions,
                tuple(words[i] for i in measured),
            )
            found = measure_focus(model, sample, seed, target, name, batch_size=batch_size)
            focus[name], heat[measured] = found, found.sources[0].heat
        if len(rest):
            wanted = labels[rest].to(device) if target == "true" else None
            signed = explain(model, images[rest], wanted, name, batch_size)
            heat[rest] = to_heat(signed, (images.shape[2], images.shape[3])).cpu()
        maps[name] = heat.numpy()
    p = answers(model, images, batch_size).softmax(1).cpu().numpy()
    return Looked(name_of(model), view, maps, p, masks, regions, measured, focus, why, words)


def _masks(
    view: View,
) -> tuple[NDArray[np.bool_] | None, Regions | None, tuple[str, ...], str]:
    """Masks, regions and where they come from, or the sentence that says why there are none."""
    try:
        regions = regions_of(view.image_set)
    except UserError as error:
        return None, None, (), str(error)
    masks, words = find_masks(view.image_set, view.rows, landmarks=view.landmarks)
    return masks, regions, words, ""


def _measurable(masks: NDArray[np.bool_] | None, regions: Regions | None) -> NDArray[np.int64]:
    """Places of pictures with something inside and outside of the primary region."""
    if masks is None or regions is None:
        return np.zeros(0, np.int64)
    inside: Tensor = usable(torch.from_numpy(masks), regions)[:, regions.row(regions.primary)]
    return inside.nonzero().flatten().numpy()


def _png(figure: Figure) -> bytes:
    picture = io.BytesIO()
    figure.savefig(picture, dpi=DPI, format="png")
    return picture.getvalue()
