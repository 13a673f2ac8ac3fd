"""A FER-2013 CSV file, read block by block so that memory stays near the size of the images."""

from collections.abc import Iterator
from typing import BinaryIO

import numpy as np

from fer_lightning.data.readers import limits
from fer_lightning.data.readers.csv_header import parse_header
from fer_lightning.data.readers.csv_rows import SIDE, Rows, fast_rows, patient_rows
from fer_lightning.errors import UserError

_BLOCK = limits.MIB // 2  # bytes parsed at once: small enough for the processor's cache


def read_csv(file: BinaryIO, where: str) -> Rows:
    r"""Read every row of a CSV with the columns emotion, pixels and perhaps Usage.

    Args:
        file: the file's bytes.
        where: its name, for messages.

    Returns:
        (N, 1, 48, 48) uint8 images, (N,) int64 labels, (N,) int8 usages.

    >>> import io
    >>> row = "6,Training," + " ".join(["7"] * 2304)
    >>> rows = read_csv(io.BytesIO(f"emotion, Usage, pixels\n{row}\n".encode()), "faces.csv")
    >>> rows.pixels.shape, rows.labels, rows.usage
    ((1, 1, 48, 48), array([6]), array([0], dtype=int8))
    """
    _keep_freed_memory()
    blocks = _blocks(file, where)
    header = parse_header(next(blocks, b""), where)
    parts: list[Rows] = []
    row = 0
    for block in blocks:
        part = fast_rows(block, header)
        if part is None:
            part = patient_rows(block, header, row, where)
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


def _keep_freed_memory() -> None:
    """Make glibc reuse freed arrays: it learns from the size of what was freed (2.6 s → 1.0 s)."""
    np.empty(31 * limits.MIB, np.uint8)  # just below the 32 MiB that it is willing to learn
