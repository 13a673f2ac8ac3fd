"""What ``explain`` finds in each picture: a map, a prediction and numbers of focus."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Literal

import cv2
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fer_lightning.attribution import Cam, draw_overlay, is_zero, to_heat
from fer_lightning.attribution.target import choose
from fer_lightning.commands.file_names import readable
from fer_lightning.controls import explainers
from fer_lightning.controls.explainers import Method
from fer_lightning.controls.occlusion import answers
from fer_lightning.data.augment import to_float
from fer_lightning.data.pictures import Picture, Skipped
from fer_lightning.data.regions import KEY, ORDER, template
from fer_lightning.errors import UserError
from fer_lightning.metrics import background_share, local_focus_ratio, local_sensitivity_index
from fer_lightning.models import VisionModel

BLURRED = ("integrated_gradients", "smooth_grad")  # heat of single pixels
BLUR = 1 / 24  # of the picture's side, standard deviation
BATCH = 16  # pictures that are held at once
REGIONS = ORDER[:6]  # without the face oval
FOCUS = (*(f"lfr_{name}" for name in REGIONS), "lsi", "background_share")
TEMPLATE = "template masks"


@dataclass
class Explained:
    """One entry a picture, in the order of reading.

    Attributes:
        rows: of the CSV file.
        maps: (h, w) each, signed at the model's grid, or heat at each pixel.
        target: classes.
        logits: (K,) each.
        skipped: files that are no picture.
    """

    rows: list[dict[str, str | int | float]] = field(default_factory=list)
    maps: list[Tensor] = field(default_factory=list)
    target: list[Tensor] = field(default_factory=list)
    logits: list[Tensor] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)


def explain(
    net: VisionModel,
    pictures: Iterable[Picture | Skipped],
    classes: Sequence[str],
    save: Callable[[str, NDArray[np.uint8]], str],
    target: int | None = None,
    method: Method = "grad_cam",
    masks: Literal["template", "none"] = "template",
) -> Explained:
    """Explain pictures one batch after another, so that few of them are held at once.

    Args:
        net: the model, in eval mode.
        pictures: as `read_each` gives them.
        classes: the names of its classes.
        save: takes a picture's name and its overlay, (S, S, 3) RGB, and returns the overlay's name.
        target: the class to explain, None for the predicted one.
        method: how.
        masks: "template" measures focus with the fixed masks, "none" does not measure it.

    Raises:
        UserError: the model answers with NaN or infinity, or is too small for the masks.
    """
    found = Explained()
    device = next(net.parameters()).device
    for batch in _batches(pictures, found.skipped):
        images = to_float(torch.from_numpy(np.stack([p.seen for p in batch])).to(device))
        cam = look(net, images, target, method)
        heat = to_heat(cam.signed, images.shape[-1]).cpu()
        drawn = [for_drawing(one, method) for one in heat]
        numbers = focus_numbers(heat, masks == "template")
        chances = cam.logits.softmax(1)
        for i, picture in enumerate(batch):
            shown = picture.shown
            shown = shown if shown.ndim == 2 else shown.transpose(2, 0, 1)
            predicted, wanted = int(chances[i].argmax()), int(cam.target[i])
            found.rows.append(
                {
                    "file": readable(picture.name),
                    "overlay": save(
                        picture.name, draw_overlay(shown, drawn[i], len(picture.shown))
                    ),
                    "width": picture.width,
                    "height": picture.height,
                    **dict(zip(("crop_x", "crop_y", "crop_side"), picture.crop, strict=True)),
                    "predicted": classes[predicted],
                    "probability": chances[i, predicted].item(),
                    "target": classes[wanted],
                    "target_probability": chances[i, wanted].item(),
                    "zero_map": "yes" if is_zero(heat[i : i + 1]).item() else "no",
                    "masks": TEMPLATE if masks == "template" else "none",
                    **numbers[i],
                }
            )
        found.maps += cam.signed.cpu()
        found.target += cam.target.cpu()
        found.logits += cam.logits.cpu()
    return found


def look(net: VisionModel, images: Tensor, target: int | None, method: Method) -> Cam:
    """Explain one batch by any method; maps stand in place of `signed`, signed if the method is.

    Raises:
        UserError: the model answers with NaN or infinity, or has no attention to show.

    >>> from fer_lightning.models import CNN
    >>> look(CNN().eval(), torch.rand(2, 1, 48, 48), 3, "occlusion_map").signed.shape
    torch.Size([2, 48, 48])
    """
    logits = answers(net, images, BATCH).to(images.device)
    if not logits.isfinite().all():
        raise UserError(
            "expected finite answers of the model but got NaN or infinity; its training failed, "
            "use another checkpoint"
        )
    chosen = choose(logits, target)
    return Cam(explainers.explain(net, images, chosen, method, BATCH), chosen, logits)


def for_drawing(heat: Tensor, method: Method) -> NDArray[np.float32]:
    """Blur heat, (H, W), of methods that give single hot pixels, for the eye and for no number.

    >>> spike = torch.zeros(48, 48)
    >>> spike[24, 24] = 1
    >>> [(for_drawing(spike, how) > 0.01).sum().item() for how in ("grad_cam", "smooth_grad")]
    [1, 37]
    """
    pixels = heat.numpy()
    if method not in BLURRED:
        return pixels
    return cv2.GaussianBlur(pixels, (0, 0), BLUR * len(pixels)).astype(np.float32)


def focus_numbers(heat: Tensor, measured: bool = True) -> list[dict[str, str | float]]:
    """Measure maps, (N, H, W), with the template masks: LFR of each region, LSI, background share.

    Returns:
        One dict a map with the keys of `FOCUS`; NaN for a zero map, empty if not `measured`.

    >>> round(focus_numbers(torch.ones(1, 48, 48))[0]["lfr_key"], 6)
    1.0
    """
    if not measured:
        return [dict.fromkeys(FOCUS, "")] * len(heat)
    size = (heat.shape[1], heat.shape[2])
    masks = {name: torch.tensor(mask) for name, mask in template(size).items()}
    lfr = local_focus_ratio(heat, torch.stack([masks[name] for name in REGIONS]))
    lsi = local_sensitivity_index(heat, torch.stack([masks[name] for name in KEY]))
    outside = background_share(heat, masks["face"])
    table = torch.cat([lfr, lsi[:, None], outside[:, None]], dim=1)
    return [dict(zip(FOCUS, row, strict=True)) for row in table.tolist()]


def _batches(
    pictures: Iterable[Picture | Skipped], skipped: list[Skipped]
) -> Iterator[list[Picture]]:
    """Give pictures by the batch and put the others aside."""
    reading = iter(pictures)
    while part := list(islice(reading, BATCH)):
        skipped += [one for one in part if isinstance(one, Skipped)]
        if batch := [one for one in part if isinstance(one, Picture)]:
            yield batch
