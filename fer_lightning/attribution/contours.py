"""A face with its heat, the outlines of its hot spots and boxes around them."""

import cv2
import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from fer_lightning.attribution.hot_spots import (
    BOX_LEVELS,
    LEVELS,
    MIN_PIXELS,
    check_map,
    find_boxes,
    find_contours,
)
from fer_lightning.errors import UserError

Picture = NDArray[np.uint8]


def draw_overlay(
    image: Tensor | NDArray[np.uint8],
    heat: Tensor | NDArray[np.floating],
    size: int = 224,
    opacity: float = 0.55,
    contours: bool = True,
    boxes: bool = True,
    min_pixels: int = MIN_PIXELS,
) -> Picture:
    """Draw heat over a picture, with contours of its upper half and boxes around hot regions.

    Heat is the more opaque the hotter it is, so that a cold face stays visible. An outline and a
    box have the colour of the heat in them. A map without heat leaves the picture as it is.

    Args:
        image: bytes, (H, W) grey, or (C, H, W) with one or three channels.
        heat: (h, w) of any size, finite and not negative.
        size: side of the result in pixels.
        opacity: of the hottest place, from 0 to 1.
        contours: draw the outlines at `LEVELS`.
        boxes: draw boxes at the first of `BOX_LEVELS` with a region.
        min_pixels: smaller regions are left out, in pixels of the result.

    Returns:
        (size, size, 3) RGB bytes.

    Raises:
        UserError: a picture or a map of another kind.

    >>> draw_overlay(np.zeros((48, 48), np.uint8), np.ones((6, 6)), size=100).shape
    (100, 100, 3)
    """
    if not 1 <= size <= 8192 or not 0 <= opacity <= 1:
        raise UserError(
            f"expected a size from 1 to 8192 pixels and an opacity from 0 to 1 but got {size} and "
            f"{opacity}"
        )
    picture = as_rgb(image)
    shrinks = max(picture.shape[:2]) > size
    scaling = cv2.INTER_AREA if shrinks else cv2.INTER_CUBIC  # the latter would skip pixels
    canvas = cv2.resize(picture, (size, size), interpolation=scaling).astype(np.uint8)
    scaled = scale_heat(heat, size)
    if scaled.max() <= 0:
        return canvas
    weight = opacity * scaled[..., None]
    canvas = np.rint(canvas * (1 - weight) + heat_colours(scaled) * weight).astype(np.uint8)
    line = max(1, round(size / 224))
    if contours:
        for contour in find_contours(scaled, LEVELS, min_pixels):
            cv2.polylines(canvas, [contour.points], True, _colour(contour.level), line, cv2.LINE_AA)
    if boxes:
        for box in find_boxes(scaled, BOX_LEVELS, min_pixels):
            corners = (box.x, box.y), (box.x + box.width - 1, box.y + box.height - 1)
            cv2.rectangle(canvas, *corners, (0, 0, 0), 4 * line)  # stands out from light faces
            cv2.rectangle(canvas, *corners, _colour(box.heat), 2 * line)
    return canvas


def scale_heat(heat: Tensor | NDArray[np.floating], size: int) -> NDArray[np.float32]:
    """Scale a map bilinearly to (size, size) and divide it by its own maximum.

    >>> scale_heat(np.array([[0.0, 4.0]]), 4)[0].tolist()
    [0.0, 0.25, 0.75, 1.0]
    """
    values = heat.detach().cpu().float().numpy() if isinstance(heat, Tensor) else heat
    values = check_map(values).astype(np.float32)
    scaled = cv2.resize(values, (size, size), interpolation=cv2.INTER_LINEAR).astype(np.float32)
    return scaled / (scaled.max() or 1)


def heat_colours(heat: NDArray[np.floating]) -> Picture:
    """Return the RGB colours, (..., 3), of heat from 0 to 1: the hotter, the lighter (inferno).

    >>> heat_colours(np.array([0.0, 1.0])).shape
    (2, 3)
    """
    levels = np.rint(np.clip(heat, 0, 1) * 255).astype(np.uint8)
    bgr = cv2.applyColorMap(levels.reshape(-1, 1), cv2.COLORMAP_INFERNO)
    return bgr[:, 0, ::-1].reshape(*heat.shape, 3)


def as_rgb(image: Tensor | NDArray[np.uint8]) -> Picture:
    """Return a picture as (H, W, 3) bytes.

    Raises:
        UserError: other shapes and types.

    >>> as_rgb(np.zeros((1, 5, 4), np.uint8)).shape
    (5, 4, 3)
    """
    pixels = image.detach().cpu().numpy() if isinstance(image, Tensor) else image
    pixels = pixels[None] if pixels.ndim == 2 else pixels
    if (
        pixels.dtype != np.uint8
        or pixels.ndim != 3
        or pixels.shape[0] not in (1, 3)
        or not pixels.size
    ):
        raise UserError(
            "expected a picture of bytes, (H, W) or (C, H, W) with 1 or 3 channels, but got "
            f"{pixels.dtype} of shape {tuple(image.shape)}; multiply floats by 255 and convert them"
        )
    return np.ascontiguousarray(np.broadcast_to(pixels, (3, *pixels.shape[1:])).transpose(1, 2, 0))


def _colour(heat: float) -> tuple[int, int, int]:
    r, g, b = heat_colours(np.array(heat)).tolist()
    return r, g, b
