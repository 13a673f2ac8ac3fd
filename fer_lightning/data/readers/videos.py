"""Frames of a video file, bounded, with what is wrong with it in words."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from fer_lightning.data.readers import limits
from fer_lightning.data.readers.pictures import BadPictureError

ENDINGS = (".mp4", ".m4v", ".mov", ".avi", ".mkv", ".webm", ".mpg", ".mpeg")
MOST = 10_000  # frames that are decoded


class Frame(NamedTuple):
    """One picture of a video."""

    number: int  # from 0
    pixels: NDArray[np.uint8]  # (H, W, 3) RGB


def is_video_name(name: str) -> bool:
    """Tell by its ending whether a file is meant to be a video.

    >>> is_video_name("a/B.MP4"), is_video_name("a.png")
    (True, False)
    """
    return name.lower().endswith(ENDINGS)


def is_video(head: bytes) -> bool:
    """Tell by its first bytes whether a file is a video: no list of other files or addresses.

    >>> is_video(b"RIFF....AVI LIST"), is_video(b"#EXTM3U and a path")
    (True, False)
    """
    return (
        head[4:8] in (b"ftyp", b"moov", b"mdat", b"wide", b"free", b"skip")  # MP4, QuickTime
        or (head[:4] == b"RIFF" and head[8:12] == b"AVI ")
        or head[:4] in (b"\x1a\x45\xdf\xa3", b"\0\0\1\xba", b"\0\0\1\xb3")  # Matroska, MPEG
    )


def frames(path: Path, every: int = 1) -> Iterator[Frame]:
    """Give each `every`-th frame of a video, the first one included.

    Raises:
        BadPictureError: it is none, it is cut off, or its frames are too large or too many; frames
            before that were given.
    """
    with path.open("rb") as file:
        if not is_video(file.read(limits.HEAD)):
            raise BadPictureError("not an MP4, AVI, Matroska, WebM or MPEG video")
    video = cv2.VideoCapture(str(path))
    try:
        width, height, told = (
            int(video.get(prop))
            for prop in (
                cv2.CAP_PROP_FRAME_WIDTH,
                cv2.CAP_PROP_FRAME_HEIGHT,
                cv2.CAP_PROP_FRAME_COUNT,
            )
        )
        if width * height > limits.MAX_PIXELS:
            most = limits.MAX_PIXELS
            raise BadPictureError(f"frames of {width}x{height} pixels, expected at most {most:,}")
        number = 0
        while video.grab():
            if number == MOST:
                raise BadPictureError(f"only its first {MOST:,} frames were read")
            if number % every == 0:
                read, pixels = video.retrieve()
                if not read:
                    break
                yield Frame(number, np.ascontiguousarray(pixels[..., ::-1]))
            number += 1
        if not number:
            raise BadPictureError("damaged: it has no frame that can be read")
        if number < 0.9 * told:  # files tell a few too many
            raise BadPictureError(f"damaged: it ends after {number:,} of {told:,} frames")
    finally:
        video.release()
