"""A FER-2013 CSV file, read block by block so that memory stays near the size of the images."""

from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fer_lightning.data.image_set import Usage
from fer_lightning.data.labels import FER_CLASSES
from fer_lightning.data.readers import limits
from fer_lightning.errors import UserError

SIDE = 48
PIXELS = SIDE * SIDE
USAGES = {
    b"training": Usage.TRAINING,
    b"publictest": Usage.PUBLIC_TEST,
    b"privatetest": Usage.PRIVATE_TEST,
}
# images per usage (Training, PublicTest, PrivateTest) and class, in the order of FER_CLASSES
FER2013_COUNTS = np.array(
    [
        [3995, 436, 4097, 7215, 4830, 3171, 4965],
        [467, 56, 496, 895, 653, 415, 607],
        [491, 55, 528, 879, 594, 416, 626],
    ]
)
_BLOCK = limits.MIB // 2  # bytes parsed at once: small enough for the processor's cache
_BOM = b"\xef\xbb\xbf"  # some editors put it before UTF-8
_ZERO, _SPACE, _COMMA, _NEWLINE = (np.uint8(ord(letter)) for letter in "0 ,\n")


class Rows(NamedTuple):
    """Consecutive rows: (n, 2304) uint8 pixels, (n,) int64 labels, (n,) int8 usages."""

    pixels: NDArray[np.uint8]
    labels: NDArray[np.int64]
    usage: NDArray[np.int8]


class _Header(NamedTuple):
    """The columns by position; `usage` is None when the file does not tell the official split."""

    width: int
    emotion: int
    pixels: int
    usage: int | None


def column_names(head: bytes) -> list[str]:
    """Return the first line's fields in small letters, without blanks and quotes."""
    line = head.removeprefix(_BOM).split(b"\n", 1)[0].decode("utf-8", "replace")
    return [name.strip(' \t\r"').lower() for name in line.split(",")]


def _parse_header(head: bytes, where: str) -> _Header:
    """Find the columns of a CSV of faces, in any order."""
    columns = column_names(head)
    if "emotion" not in columns:
        raise UserError(
            f"expected the columns emotion and pixels, but {where} has no labels (only "
            f"{', '.join(columns)}); use fer2013.csv, icml_face_data.csv or train.csv"
        )
    repeated = sorted({name for name in columns if name and columns.count(name) > 1})
    if repeated:
        raise UserError(
            f"expected each column once, but {where} has {repeated[0]} twice; remove one"
        )
    usage = columns.index("usage") if "usage" in columns else None
    return _Header(len(columns), columns.index("emotion"), columns.index("pixels"), usage)


def parse_numbers(text: NDArray[np.uint8]) -> tuple[NDArray[np.uint8], NDArray[np.intp]] | None:
    """Read all numbers of a text of digits and blanks, (L,): values, and where each one ends.

    Every byte is first taken as if a number ended there: its digit, plus ten times the digit
    before, plus a hundred times the one before that. Then the real ends are picked. That needs
    about ten passes of byte arithmetic and no loop over numbers.

    Returns None when the text holds anything but digits and blanks, a number above 255 or one of
    more than three digits: then a slower and more patient reader must look.
    """
    digit = text - _ZERO  # blanks wrap to 240
    is_digit = digit < 10
    if not (is_digit | (text == _SPACE)).all():
        return None
    as_one = is_digit.view(np.uint8)
    digit *= as_one
    three = is_digit[2:] & is_digit[1:-1] & is_digit[:-2]
    if (three[1:] & three[:-1]).any():  # four digits in a row
        return None

    low = digit.copy()  # two last digits of the number that ends here
    low[1:] += digit[:-1] * np.uint8(10)
    high = np.zeros_like(digit)  # hundreds; 0 if the digit before this one is a blank
    np.multiply(digit[:-2], as_one[1:-1], out=high[2:])

    is_end = is_digit.copy()
    np.greater(is_digit[:-1], is_digit[1:], out=is_end[:-1])
    ends = np.flatnonzero(is_end)
    tail, hundreds = low[ends], high[ends]
    if ((hundreds > 2) | ((hundreds == 2) & (tail > 55))).any():
        return None
    tail += hundreds * np.uint8(100)
    return tail, ends


def _fast_rows(block: bytes, header: _Header) -> Rows | None:
    """Parse whole lines at once, or return None when anything about them is unusual."""
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
    labels = text[edges[:, header.emotion] + 1] - _ZERO
    usage = _fast_usages(block, edges, header)
    if usage is None or (labels >= len(FER_CLASSES)).any():
        return None

    bounds = edges[:, header.pixels : header.pixels + 2]
    end = 0
    for start, next_end in bounds.tolist():  # leave nothing but pixels in the text
        text[end : start + 1] = _SPACE
        end = next_end
    text[end:] = _SPACE
    parsed = parse_numbers(text)
    if parsed is None or len(parsed[0]) != n * PIXELS:
        return None
    values, ends = parsed
    firsts, lasts = ends[::PIXELS], ends[PIXELS - 1 :: PIXELS]
    if not ((firsts > bounds[:, 0]) & (lasts < bounds[:, 1])).all():  # a row short, another long
        return None
    return Rows(values.reshape(n, PIXELS), labels.astype(np.int64), usage)


def _fast_usages(block: bytes, edges: NDArray[np.intp], header: _Header) -> NDArray[np.int8] | None:
    if header.usage is None:
        return np.full(len(edges), Usage.UNKNOWN, np.int8)
    spans = edges[:, header.usage : header.usage + 2].tolist()
    found = [USAGES.get(block[start + 1 : end].strip().lower()) for start, end in spans]
    return None if None in found else np.array(found, np.int8)


def _patient_rows(block: bytes, header: _Header, first_row: int, where: str) -> Rows:
    """Parse line by line; a fault is reported with its row, counted from 1 below the header."""
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
        if header.usage is None:
            usages.append(Usage.UNKNOWN)
        else:
            usages.append(parse_usage(fields[header.usage], place, "mend or remove the row"))
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


def parse_usage(field: bytes, place: str, remedy: str) -> Usage:
    """Return the part of the split that a field names, or refuse it."""
    usage = USAGES.get(field.strip().lower())
    if usage is None:
        raise UserError(
            f"expected Usage Training, PublicTest or PrivateTest, but got {_shown(field)} in "
            f"{place}; {remedy}"
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


def read_csv(file: BinaryIO, where: str) -> Rows:
    """Read every row of a CSV with the columns emotion, pixels and perhaps Usage.

    Pixels come as (N, 1, 48, 48); `where` names the file in messages.
    """
    # glibc reuses freed arrays once it has seen one almost as large as the 32 MiB that it is
    # willing to learn from (2.6 s → 1.0 s)
    np.empty(31 * limits.MIB, np.uint8)
    blocks = _blocks(file, where)
    header = _parse_header(next(blocks, b""), where)
    parts: list[Rows] = []
    row = 0
    for block in blocks:
        part = _fast_rows(block, header)
        if part is None:
            part = _patient_rows(block, header, row, where)
        parts.append(part)
        row += len(part.labels)
    if row == 0:
        raise UserError(
            f"expected rows of faces, but {where} has only a header; download the file again"
        )
    return Rows(
        np.concatenate([part.pixels for part in parts]).reshape(-1, 1, SIDE, SIDE),
        np.concatenate([part.labels for part in parts]),
        np.concatenate([part.usage for part in parts]),
    )


def _blocks(file: BinaryIO, where: str) -> Iterator[bytes]:
    """Yield the header line, then blocks of whole lines; line ends are unified, quotes removed."""
    rest = b""
    is_header = True
    while chunk := file.read(_BLOCK):
        rest += chunk
        if is_header and b"\n" in rest:
            line, rest = rest.split(b"\n", 1)
            yield line
            is_header = False
        cut = rest.rfind(b"\n") + 1
        if cut:
            yield _plain(rest[:cut])
            rest = rest[cut:]
        if len(rest) > limits.MAX_ROW:
            raise UserError(
                f"expected rows of at most {limits.MAX_ROW:,} bytes, but {where} has a longer "
                "one; it is no CSV of faces or its line ends are lost"
            )
    if rest:
        yield _plain(rest + b"\n") if not is_header else rest


def _plain(block: bytes) -> bytes:
    block = block.replace(b"\r\n", b"\n") if b"\r" in block else block
    return block.replace(b'"', b"") if b'"' in block else block


def fer2013_name(labels: NDArray[np.int64], usage: NDArray[np.int8]) -> str | None:
    """Name a set of 48x48 grey faces of the seven classes after FER-2013 if its counts allow it.

    ``"FER-2013"`` is a whole copy, whatever its own split is; ``"FER-2013 (partial, ...)"`` holds
    fewer images and no part more than the original; otherwise None.

    >>> fer2013_name(np.array([0, 3, 6]), np.zeros(3, np.int8))
    'FER-2013 (partial, 3 images)'
    >>> fer2013_name(np.full(60, 1), np.full(60, 1, np.int8)) is None
    True
    """
    per_class = np.bincount(labels, minlength=len(FER_CLASSES))
    if (per_class == FER2013_COUNTS.sum(axis=0)).all():
        return "FER-2013"
    parts = [np.bincount(labels[usage == part], minlength=len(FER_CLASSES)) for part in range(3)]
    fits = (np.array(parts) <= FER2013_COUNTS).all()
    if fits and (per_class <= FER2013_COUNTS.sum(axis=0)).all():
        return f"FER-2013 (partial, {len(labels):,} images)"
    return None
