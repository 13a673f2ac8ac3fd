"""Rows of a FER-2013 CSV to arrays: a fast way for clean blocks, a patient one that explains."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fer_lightning.data.image_set import Usage
from fer_lightning.data.labels import FER_CLASSES
from fer_lightning.data.readers.csv_header import Header
from fer_lightning.data.readers.pixels import parse_numbers
from fer_lightning.errors import UserError

SIDE = 48
PIXELS = SIDE * SIDE
USAGES = {
    b"training": Usage.TRAINING,
    b"publictest": Usage.PUBLIC_TEST,
    b"privatetest": Usage.PRIVATE_TEST,
}
_BLANK, _COMMA, _NEWLINE = 32, 44, 10


class Rows(NamedTuple):
    """Consecutive rows: (n, 2304) uint8 pixels, (n,) int64 labels, (n,) int8 usages."""

    pixels: NDArray[np.uint8]
    labels: NDArray[np.int64]
    usage: NDArray[np.int8]


def fast_rows(block: bytes, header: Header) -> Rows | None:
    r"""Parse whole lines at once, or return None when anything about them is unusual.

    >>> line = b"3," + b" ".join([b"255"] * 2304) + b",Training\n"
    >>> rows = fast_rows(line * 2, Header(width=3, emotion=0, pixels=1, usage=2))
    >>> rows.pixels.shape, rows.labels.tolist(), rows.usage.tolist()
    ((2, 2304), [3, 3], [0, 0])
    """
    text = np.frombuffer(bytearray(block), np.uint8)
    newlines = np.flatnonzero(text == _NEWLINE)
    commas = np.flatnonzero(text == _COMMA)
    n = len(newlines)
    if len(commas) != n * (header.width - 1):
        return None
    # edges[r, k] .. edges[r, k + 1] enclose field k of row r
    before = np.concatenate([[-1], newlines[:-1]])
    edges = np.column_stack([before, commas.reshape(n, header.width - 1), newlines])
    if not (np.diff(edges, axis=1) > 0).all():
        return None

    if not (edges[:, header.emotion + 1] - edges[:, header.emotion] == 2).all():  # one character
        return None
    labels = text[edges[:, header.emotion] + 1] - np.uint8(ord("0"))
    usage = _fast_usages(block, edges, header)
    if usage is None or (labels >= len(FER_CLASSES)).any():
        return None

    bounds = edges[:, header.pixels : header.pixels + 2]
    end = 0
    for start, next_end in bounds.tolist():  # leave nothing but pixels in the text
        text[end : start + 1] = _BLANK
        end = next_end
    text[end:] = _BLANK
    parsed = parse_numbers(text)
    if parsed is None or len(parsed[0]) != n * PIXELS:
        return None
    values, ends = parsed
    firsts, lasts = ends[::PIXELS], ends[PIXELS - 1 :: PIXELS]
    if not ((firsts > bounds[:, 0]) & (lasts < bounds[:, 1])).all():  # a row short, another long
        return None
    return Rows(values.reshape(n, PIXELS), labels.astype(np.int64), usage)


def _fast_usages(block: bytes, edges: NDArray[np.intp], header: Header) -> NDArray[np.int8] | None:
    if header.usage is None:
        return np.full(len(edges), Usage.UNKNOWN, np.int8)
    spans = edges[:, header.usage : header.usage + 2].tolist()
    found = [USAGES.get(block[start + 1 : end].strip().lower()) for start, end in spans]
    return None if None in found else np.array(found, np.int8)


def patient_rows(block: bytes, header: Header, first_row: int, where: str) -> Rows:
    """Parse line by line; a fault is told with its row, counted from 1 below the header."""
    pixels, labels, usages = [], [], []
    row = first_row
    for line in block.split(b"\n"):
        if not line.strip():
            continue
        row += 1
        place = f"row {row} of {where}"
        fields = [field.strip() for field in line.split(b",")]
        if len(fields) != header.width:
            raise UserError(
                f"expected {header.width} columns, but got {len(fields)} in {place}; the row is "
                "cut off or damaged: download the file again or remove the row"
            )
        labels.append(_label(fields[header.emotion], place))
        pixels.append(_pixels(fields[header.pixels], place))
        usages.append(
            Usage.UNKNOWN if header.usage is None else _usage(fields[header.usage], place)
        )
    return Rows(
        np.array(pixels, np.uint8).reshape(-1, PIXELS),
        np.array(labels, np.int64),
        np.array(usages, np.int8),
    )


def _label(field: bytes, place: str) -> int:
    if not field.isdigit() or len(field) > 1 or int(field) >= len(FER_CLASSES):
        raise UserError(
            f"expected a label from 0 to {len(FER_CLASSES) - 1}, but got {_shown(field)} in "
            f"{place}; mend or remove the row"
        )
    return int(field)


def _usage(field: bytes, place: str) -> Usage:
    usage = USAGES.get(field.lower())
    if usage is None:
        raise UserError(
            f"expected Usage Training, PublicTest or PrivateTest, but got {_shown(field)} in "
            f"{place}; mend or remove the row"
        )
    return usage


def _pixels(field: bytes, place: str) -> list[int]:
    words = field.split()
    for index, word in enumerate(words, start=1):
        if not word.isdigit() or len(word) > 9 or int(word) > 255:
            raise UserError(
                f"expected pixels from 0 to 255, but pixel {index} is {_shown(word)} in {place}; "
                "mend or remove the row"
            )
    if len(words) != PIXELS:
        raise UserError(
            f"expected {PIXELS} pixels, but got {len(words)} in {place}; the row is cut off or "
            "damaged: download the file again or remove the row"
        )
    return [int(word) for word in words]


def _shown(field: bytes) -> str:
    return repr(field[:40].decode("utf-8", "replace"))
