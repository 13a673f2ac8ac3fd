"""Pictures of where the model looks: the same faces in every epoch."""

import numpy as np
import torch

from fer_lightning.look.callbacks.look import Look, Probe, Scene
from fer_lightning.look.heat import to_heat
from fer_lightning.look.methods.grad_cam import grad_cam
from fer_lightning.look.overlay import draw_overlay
from fer_lightning.plots.gradcam_gallery import gradcam_gallery


class GradCAMCallback(Look):
    """A gallery with one row a class: in training the same faces, in the test right and wrong ones.

    Args:
        every_n_epochs: look after each n-th epoch of training.
        samples: number of probe images from which the faces are taken.
        seed: chooses the images.
        per_class: faces in a row.
    """

    def __init__(
        self, every_n_epochs: int = 1, samples: int = 200, seed: int = 0, per_class: int = 4
    ) -> None:
        super().__init__(every_n_epochs, samples, seed)
        self.per_class = per_class

    def look(self, scene: Scene) -> None:
        """Draw the gallery."""
        probe = scene.probe(self.samples, self.seed)
        if scene.stage == "val":
            probe = first_of_each_class(probe, self.per_class)
        cam = grad_cam(scene.module.net, probe.images)
        heat = to_heat(cam.signed, (probe.images.shape[2], probe.images.shape[3])).cpu().numpy()
        p = cam.logits.softmax(1).cpu()
        overlays = [draw_overlay(f, h) for f, h in zip(probe.faces, heat, strict=True)]
        figure = gradcam_gallery(
            shown(probe.faces),
            np.stack(overlays),
            probe.labels.numpy(),
            p.argmax(1).numpy(),
            p.amax(1).numpy(),
            scene.data.classes,
            scene.title("Grad-CAM"),
            per_side=max(self.per_class // 2, 1),
            arrange="given" if scene.stage == "val" else "right_wrong",
            zero=heat.max((1, 2)) == 0,
        )
        scene.save(figure, "gradcam")


def first_of_each_class(probe: Probe, n: int) -> Probe:
    """Keep the first n images of each class.

    >>> labels = torch.tensor([1, 0, 1, 1])
    >>> few = Probe(np.arange(4), torch.zeros(4, 1, 2, 2), labels, np.zeros((4, 1, 2, 2), np.uint8))
    >>> first_of_each_class(few, 2).rows.tolist()
    [1, 0, 2]
    """
    keep = torch.cat(
        [torch.nonzero(probe.labels == c).flatten()[:n] for c in probe.labels.unique()]
    )
    at = keep.numpy()
    return Probe(
        probe.rows[at],
        probe.images[keep.to(probe.images.device)],
        probe.labels[keep],
        probe.faces[at],
    )


def shown(faces: np.ndarray) -> np.ndarray:
    """Turn (N, C, H, W) into what plots take: (N, H, W) grey or (N, H, W, 3)."""
    return faces[:, 0] if faces.shape[1] == 1 else faces.transpose(0, 2, 3, 1)
