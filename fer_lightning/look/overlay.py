"""Outlines and boxes around the hot parts of a map."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from fer_lightning.errors import UserError

LEVELS = tuple(np.linspace(0.5, 0.95, 8).tolist())  # shares of a map's maximum
BOX_LEVELS = (0.5, 0.45, 0.4, 0.35, 0.3)  # tried in this order until a region is found
MIN_PIXELS = 30  # of the drawn picture
TOLERANCE = 1.0  # pixels by which a simplified outline may stray (Douglas-Peucker)


class Contour(NamedTuple):
    """The outline of a connected region.

    Args:
        points: (M, 2) int32, x and y of the corners in pixels of the map.
        level: share of the map's maximum that the region reaches.
        pixels: area of the region, counted in pixels.
    """

    points: NDArray[np.int32]
    level: float
    pixels: int


class Box(NamedTuple):
    """The smallest upright rectangle around a connected region.

    Args:
        x: first column.
        y: first row.
        width: columns.
        height: rows.
        heat: mean heat inside, as a share of the map's maximum.
        level: share of the map's maximum that the region reaches.
    """

    x: int
    y: int
    width: int
    height: int
    heat: float
    level: float


def find_contours(
    heat: NDArray[np.floating],
    levels: Sequence[float] = LEVELS,
    min_pixels: int = MIN_PIXELS,
    tolerance: float = TOLERANCE,
) -> list[Contour]:
    """Outline the connected regions (8-connectivity) that reach each level.

    Args:
        heat: (H, W) at the size of the drawn picture, finite and not negative.
        levels: shares of the map's maximum.
        min_pixels: smaller regions are dropped; pixels are counted (`cv2.contourArea` would call
            a filled square of 6x6 pixels 25).
        tolerance: pixels by which an outline may be simplified.

    Returns:
        Contours level by level, none for an all-zero map. Holes are not outlined.

    Raises:
        UserError: no map, or NaN, infinity or negative heat in it.

    >>> heat = np.zeros((20, 20))
    >>> heat[2:8, 3:9] = 1
    >>> [(c.points.tolist(), c.pixels) for c in find_contours(heat, levels=[0.5])]
    [([[3, 2], [3, 7], [8, 7], [8, 2]], 36)]
    """
    heat = check_map(heat)
    contours = []
    for level in levels:
        for region, (x, y, _, _, pixels) in _regions(heat, level, min_pixels):
            outlines, _ = cv2.findContours(region, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
            points = cv2.approxPolyDP(outlines[0], tolerance, closed=True)[:, 0] + (x, y)
            contours.append(Contour(points.astype(np.int32), level, pixels))
    return contours


def find_boxes(
    heat: NDArray[np.floating],
    levels: Sequence[float] = BOX_LEVELS,
    min_pixels: int = MIN_PIXELS,
) -> list[Box]:
    """Box the connected regions of the first level that has any.

    Args:
        heat: (H, W) at the size of the drawn picture, finite and not negative.
        levels: shares of the map's maximum, in the order in which they are tried.
        min_pixels: smaller regions are dropped, counted in pixels.

    Returns:
        Boxes, the hottest first; none if no level has a region that is large enough.

    >>> heat = np.zeros((20, 20))
    >>> heat[0, 0], heat[5:11, 5:11] = 1, 0.4  # one hot pixel is too small
    >>> find_boxes(heat)
    [Box(x=5, y=5, width=6, height=6, heat=0.4, level=0.4)]
    """
    heat = check_map(heat)
    for level in levels:
        boxes = []
        for _, (x, y, width, height, _) in _regions(heat, level, min_pixels):
            inside = heat[y : y + height, x : x + width].mean(dtype=np.float64) / heat.max()
            boxes.append(Box(x, y, width, height, round(float(inside), 6), level))
        if boxes:
            return sorted(boxes, key=lambda box: -box.heat)
    return []


def check_map(heat: NDArray[np.floating]) -> NDArray[np.floating]:
    """Refuse anything but one map of finite heat that is not negative.

    Raises:
        UserError: another shape, or NaN, infinity or negative heat.
    """
    if heat.ndim != 2 or heat.size == 0:
        raise UserError(f"expected one map of shape (H, W) but got {heat.shape}; pass them singly")
    if not np.isfinite(heat).all() or heat.min() < 0:
        raise UserError(
            "expected a map of finite heat that is not negative but got values from "
            f"{heat.min():.3g} to {heat.max():.3g}; make it by to_heat"
        )
    return heat


def _regions(
    heat: NDArray[np.floating], level: float, min_pixels: int
) -> Iterator[tuple[NDArray[np.uint8], tuple[int, int, int, int, int]]]:
    """Give each region as a mask of its own rectangle, and its x, y, width, height, pixels."""
    highest = heat.max()
    if highest <= 0:
        return
    hot = (heat >= level * highest).astype(np.uint8)
    _, labels, stats, _ = cv2.connectedComponentsWithStats(hot, connectivity=8)
    for label, row in enumerate(stats.tolist()):
        x, y, width, height, pixels = row
        if label and pixels >= min_pixels:  # label 0 is what is cold
            part = labels[y : y + height, x : x + width] == label
            yield part.astype(np.uint8), (x, y, width, height, pixels)


# --- A face with its heat, the outlines of its hot spots and boxes around them


Picture = NDArray[np.uint8]
FOR, AGAINST = (202, 0, 32), (5, 113, 176)  # red and blue that colour-blind readers tell apart


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


def draw_signed(
    image: Tensor | NDArray[np.uint8],
    signed: Tensor | NDArray[np.floating],
    size: int = 224,
    opacity: float = 0.7,
) -> Picture:
    """Draw a map with its sign over a picture: what speaks for the class red, against it blue.

    Args:
        image: as for `draw_overlay`.
        signed: (h, w) of any size, finite.
        size: side of the result in pixels.
        opacity: where the map is largest in size.

    Returns:
        (size, size, 3) RGB bytes.

    >>> left, right = draw_signed(np.zeros((2, 2), np.uint8), np.array([[1.0, -1.0]]), 2, 1.0)[0]
    >>> left.tolist() == list(FOR), right.tolist() == list(AGAINST)
    (True, True)
    """
    canvas = cv2.resize(as_rgb(image), (size, size), interpolation=cv2.INTER_CUBIC)
    values = signed.detach().cpu().float().numpy() if isinstance(signed, Tensor) else signed
    scaled = cv2.resize(values.astype(np.float32), (size, size), interpolation=cv2.INTER_LINEAR)
    scaled = scaled / (np.abs(scaled).max() or 1)
    colours = np.where(scaled[..., None] > 0, np.array(FOR), np.array(AGAINST))
    weight = opacity * np.abs(scaled)[..., None]
    return np.rint(canvas * (1 - weight) + colours * weight).astype(np.uint8)


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


BLUR = 1 / 24  # of the picture's side, standard deviation


def for_drawing(heat: Tensor, single_pixels: bool) -> NDArray[np.float32]:
    """Blur heat, (H, W), of methods that give single hot pixels, for the eye and for no number.

    >>> import torch
    >>> spike = torch.zeros(48, 48)
    >>> spike[24, 24] = 1
    >>> [(for_drawing(spike, pixels) > 0.01).sum().item() for pixels in (False, True)]
    [1, 37]
    """
    pixels = heat.numpy()
    if not single_pixels:
        return pixels
    return cv2.GaussianBlur(pixels, (0, 0), BLUR * len(pixels)).astype(np.float32)
