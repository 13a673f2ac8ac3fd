"""Pictures of where the model looks: the same images in every epoch."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fer_lightning.look.callbacks.look import Look, LookContext, Probe
from fer_lightning.look.controls.hiding import answers
from fer_lightning.look.frozen import BATCH
from fer_lightning.look.heat import is_zero, to_heat
from fer_lightning.look.methods import by_each, explain, find_method, find_methods
from fer_lightning.look.overlay import draw_overlay, draw_signed, for_drawing
from fer_lightning.plots.galleries import gradcam_gallery
from fer_lightning.runs.files import DEFAULT_METHODS, PAPER_METHOD


class GradCAMCallback(Look):
    """A gallery with one row per class: in training the same images, in the test right and wrong.

    Args:
        every_n_epochs: look after each n-th epoch of training.
        samples: number of probe images from which the shown ones are taken.
        seed: chooses the images.
        per_class: images in a row.
        methods: attribution methods, side by side for the same images; Grad-CAM and a cheap second
            one without it. The pictures lie in ``gradcam/`` if Grad-CAM is among them, otherwise
            in a folder of the first one's name.
        method: the only method, as before there could be several.
    """

    def __init__(
        self,
        every_n_epochs: int = 1,
        samples: int = 200,
        seed: int = 0,
        per_class: int = 4,
        methods: Sequence[str] = DEFAULT_METHODS,
        method: str | None = None,
    ) -> None:
        super().__init__(every_n_epochs, samples, seed)
        self.per_class = per_class
        self.methods = find_methods(methods if method is None else [method])

    def passes(self, context: LookContext) -> float:
        """Only the images that are shown are looked at, and asked for their class before."""
        shown = min(self.samples, self.per_class * len(context.classes))
        return shown * (1 + super().passes(context) / self.samples)

    def look(self, context: LookContext) -> None:
        """Draw the gallery."""
        probe = context.probe(self.samples, self.seed)
        if context.stage == "val":
            probe = first_of_each_class(probe, self.per_class)
        p = answers(context.net, probe.images, batch_size=BATCH).softmax(1)
        maps = by_each(
            self.methods,
            lambda name: explain(context.net, probe.images, None, name).cpu(),
            self.leave_out,
        )
        drawn = [draw_maps(probe.faces, maps[name], name) for name in self.methods]
        titles = [find_method(name).title for name in self.methods]
        figure = gradcam_gallery(
            shown(probe.faces),
            np.stack([one.overlays for one in drawn], axis=1),
            probe.labels.numpy(),
            p.argmax(1).numpy(),
            p.amax(1).numpy(),
            context.classes,
            context.title(" and ".join(titles)),
            per_side=max(self.per_class // max(len(drawn), 2), 1),
            arrange="given" if context.stage == "val" else "right_wrong",
            methods=titles,
            signed=np.stack([one.signed for one in drawn], axis=1),
            zero=np.stack([one.zero for one in drawn], axis=1),
        )
        context.save(figure, "gradcam" if PAPER_METHOD in self.methods else self.methods[0])


class Drawn(NamedTuple):
    """Maps of one method over their images."""

    overlays: NDArray[np.uint8]  # (N, S, S, 3)
    signed: NDArray[np.bool_]  # (N,) nothing speaks for the class, so that the sign is drawn
    zero: NDArray[np.bool_]  # (N,) the map is zero everywhere


def draw_maps(faces: NDArray[np.uint8], maps: Tensor, method: str) -> Drawn:
    """Draw the positive part of each map, or, where there is none, the map with its sign.

    Args:
        faces: (N, C, H, W).
        maps: (N, h, w) on the CPU.
        method: that made them.

    >>> maps = torch.stack([torch.eye(3), -torch.eye(3), torch.zeros(3, 3)])
    >>> drawn = draw_maps(np.zeros((3, 1, 48, 48), np.uint8), maps, "grad_cam")
    >>> drawn.overlays.shape, drawn.signed.tolist(), drawn.zero.tolist()
    ((3, 224, 224, 3), [False, True, False], [False, False, True])
    """
    heat = to_heat(maps, (faces.shape[2], faces.shape[3]))
    zero = (maps == 0).flatten(1).all(1)
    signed = is_zero(heat) & ~zero
    pixels = find_method(method).single_pixels
    overlays = [
        draw_signed(face, one) if with_sign else draw_overlay(face, for_drawing(hot, pixels))
        for face, one, hot, with_sign in zip(faces, maps, heat, signed, strict=True)
    ]
    return Drawn(np.stack(overlays), signed.numpy(), zero.numpy())


def first_of_each_class(probe: Probe, n: int) -> Probe:
    """Keep the first n images of each class.

    >>> labels = torch.tensor([1, 0, 1, 1])
    >>> few = Probe(np.arange(4), torch.zeros(4, 1, 2, 2), labels, np.zeros((4, 1, 2, 2), np.uint8))
    >>> first_of_each_class(few, 2).rows.tolist()
    [1, 0, 2]
    """
    return probe.at(
        torch.cat([torch.nonzero(probe.labels == c).flatten()[:n] for c in probe.labels.unique()])
    )


def shown(faces: np.ndarray) -> np.ndarray:
    """Turn (N, C, H, W) into what plots take: (N, H, W) grey or (N, H, W, 3)."""
    return faces[:, 0] if faces.shape[1] == 1 else faces.transpose(0, 2, 3, 1)
