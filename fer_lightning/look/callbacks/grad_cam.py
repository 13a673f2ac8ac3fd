"""Pictures of where the model looks: the same images in every epoch."""

import numpy as np
import torch

from fer_lightning.look.callbacks.look import Look, LookContext, Probe
from fer_lightning.look.controls.hiding import answers
from fer_lightning.look.heat import to_heat
from fer_lightning.look.methods import explain, find_method
from fer_lightning.look.overlay import draw_overlay, for_drawing
from fer_lightning.plots.galleries import gradcam_gallery


class GradCAMCallback(Look):
    """A gallery with one row per class: in training the same images, in the test right and wrong.

    Args:
        every_n_epochs: look after each n-th epoch of training.
        samples: number of probe images from which the shown ones are taken.
        seed: chooses the images.
        per_class: images in a row.
        method: the attribution method; Grad-CAM's pictures lie in ``gradcam/``, those of another
            method in a folder of its name.
    """

    def __init__(
        self,
        every_n_epochs: int = 1,
        samples: int = 200,
        seed: int = 0,
        per_class: int = 4,
        method: str = "grad_cam",
    ) -> None:
        super().__init__(every_n_epochs, samples, seed)
        self.per_class, self.method = per_class, find_method(method)

    def look(self, context: LookContext) -> None:
        """Draw the gallery."""
        probe = context.probe(self.samples, self.seed)
        if context.stage == "val":
            probe = first_of_each_class(probe, self.per_class)
        p = answers(context.net, probe.images, batch_size=256).softmax(1)
        maps = explain(context.net, probe.images, None, self.method.name)
        heat = to_heat(maps, (probe.images.shape[2], probe.images.shape[3])).cpu()
        drawn = [for_drawing(one, self.method.single_pixels) for one in heat]
        overlays = [draw_overlay(f, h) for f, h in zip(probe.faces, drawn, strict=True)]
        figure = gradcam_gallery(
            shown(probe.faces),
            np.stack(overlays),
            probe.labels.numpy(),
            p.argmax(1).numpy(),
            p.amax(1).numpy(),
            context.classes,
            context.title(self.method.title),
            per_side=max(self.per_class // 2, 1),
            arrange="given" if context.stage == "val" else "right_wrong",
            zero=(heat.amax((1, 2)) == 0).numpy(),
        )
        context.save(figure, "gradcam" if self.method.name == "grad_cam" else self.method.name)


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
