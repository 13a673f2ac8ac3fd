"""One picture's bytes to an array, bounded, and with a reason when it cannot be."""

import cv2
import numpy as np
from numpy.typing import NDArray

from fer_lightning.data.readers import limits
from fer_lightning.data.readers.picture_header import picture_size


class BadPictureError(Exception):
    """A file that is no sound picture; its text is the reason, for a message with the file name."""


def decode(data: bytes) -> NDArray[np.uint8]:
    """Decode a picture.

    Args:
        data: the bytes of a JPEG, PNG, BMP, PNM or TIFF file.

    Returns:
        (H, W) when it is grey, also if stored as three equal channels; otherwise (H, W, 3) RGB.
        Transparency is dropped, 16 bits become 8, a rotation noted by the camera is applied.

    Raises:
        BadPictureError: when it is damaged, too large or no picture.

    >>> decode(cv2.imencode(".png", np.full((2, 3, 3), 9, np.uint8))[1].tobytes())
    array([[9, 9, 9],
           [9, 9, 9]], dtype=uint8)
    """
    if len(data) > limits.MAX_IMAGE_FILE:
        raise BadPictureError(f"larger than {limits.MAX_IMAGE_FILE // limits.MIB} MiB")
    size = picture_size(data)
    if size is None:
        raise BadPictureError("not a whole JPEG, PNG, BMP, PNM or TIFF picture")
    if not 0 < size[0] * size[1] <= limits.MAX_PIXELS:
        most = limits.MAX_PIXELS
        raise BadPictureError(f"{size[1]}x{size[0]} pixels, expected 1 to {most:,} in all")
    try:
        decoded = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_ANYCOLOR)
    except cv2.error as error:
        raise BadPictureError(f"refused by OpenCV: {error.err}") from None
    if decoded is None:
        raise BadPictureError("damaged")
    picture = np.asarray(decoded, np.uint8)
    if picture.ndim == 2:
        return picture
    blue, green, red = picture[..., 0], picture[..., 1], picture[..., 2]
    if (blue == green).all() and (green == red).all():
        return np.ascontiguousarray(green)
    return np.ascontiguousarray(picture[..., ::-1])


def resize(picture: NDArray[np.uint8], size: int) -> NDArray[np.uint8]:
    """Bring a picture to size x size: by area when it shrinks, bilinear when it grows.

    >>> resize(np.array([[0, 2], [4, 6]], np.uint8), 1)
    array([[3]], dtype=uint8)
    """
    if picture.shape[:2] == (size, size):
        return picture
    shrinks = min(picture.shape[:2]) >= size
    method = cv2.INTER_AREA if shrinks else cv2.INTER_LINEAR
    return np.asarray(cv2.resize(picture, (size, size), interpolation=method), np.uint8)


def to_grey(picture: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Turn RGB into luminance; a grey picture stays as it is.

    >>> to_grey(np.full((1, 1, 3), 200, np.uint8))
    array([[200]], dtype=uint8)
    """
    if picture.ndim == 2:
        return picture
    return np.asarray(cv2.cvtColor(picture, cv2.COLOR_RGB2GRAY), np.uint8)
