"""Focus by three methods with all controls, against the same maps from captum and no control.

    python -m benchmarks.run focus_methods

Ours makes the maps of a model and of its three untrained twins by Grad-CAM, integrated gradients
and occlusion, and measures them with every control. Captum only makes those maps, in batches of the
same size, on the same grid (32 steps; windows of 8 pixels, 4 apart).
"""

import torch
from captum.attr import IntegratedGradients, LayerGradCam, Occlusion
from torch import Tensor

from benchmarks.harness import Row, compare
from fer_lightning.data.augment import to_float
from fer_lightning.data.faces import drawn_faces
from fer_lightning.data.masks import masks_for
from fer_lightning.data.regions import FACE
from fer_lightning.look.controls.null_maps import SEEDS, untrained_twin
from fer_lightning.look.focus import Sample, hide_sample, measure_focus
from fer_lightning.models import create_model
from fer_lightning.models.base import VisionModel

IMAGES, BATCH = 200, 50
METHODS = ("grad_cam", "integrated_gradients", "occlusion")


def by_captum(model: VisionModel, images: Tensor) -> None:
    cam, steps, hiding = (
        LayerGradCam(model, model.cam_layer),
        IntegratedGradients(model),
        Occlusion(model),
    )
    for batch in images.split(BATCH):
        target = model(batch).argmax(1)
        grey = batch.mean((2, 3), keepdim=True).expand_as(batch)
        cam.attribute(batch, target)
        steps.attribute(batch, grey, target, n_steps=32, internal_batch_size=256)
        hiding.attribute(batch, (1, 8, 8), (1, 4, 4), target=target, baselines=grey)


def measure() -> list[Row]:
    faces = drawn_faces(IMAGES)
    images = to_float(torch.from_numpy(faces.images))
    labels, masks = (
        torch.from_numpy(faces.labels),
        torch.from_numpy(masks_for(faces, range(IMAGES))),
    )
    sample = Sample(images, labels, masks, FACE, ("exact",) * IMAGES)
    model = create_model("cnn").eval()

    def ours() -> None:
        hidden = hide_sample(model, sample)
        for method in METHODS:
            measure_focus(model, sample, method=method, hidden=hidden)

    def captum() -> None:
        for net in (model, *(untrained_twin(model, seed) for seed in SEEDS)):
            by_captum(net.eval(), images)

    name = f"focus of {IMAGES} images by {len(METHODS)} methods with all controls, captum's maps"
    return [compare(name, ours, captum, target=0.5, repeats=1, warm_up=0)]
