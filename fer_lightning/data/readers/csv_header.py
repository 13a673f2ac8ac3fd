"""The first line of a FER-2013 CSV file: which column holds what."""

from dataclasses import dataclass

from fer_lightning.errors import UserError

_BOM = b"\xef\xbb\xbf"  # some editors put it before UTF-8


@dataclass(frozen=True)
class Header:
    """The columns by position; `usage` is None when the file does not tell the official split."""

    width: int
    emotion: int
    pixels: int
    usage: int | None


def column_names(head: bytes) -> list[str]:
    r"""Return the first line's fields in small letters, without blanks and quotes.

    >>> column_names(b'"emotion", Usage, pixels\r\n0,')
    ['emotion', 'usage', 'pixels']
    """
    line = head.removeprefix(_BOM).split(b"\n", 1)[0].decode("utf-8", "replace")
    return [name.strip(' \t\r"').lower() for name in line.split(",")]


def is_fer_csv(head: bytes) -> bool:
    r"""Tell by its first line whether a file is a CSV of faces, labelled or not.

    >>> is_fer_csv(b"emotion,pixels,Usage\n0,70 80"), is_fer_csv(b"path,label\n")
    (True, False)
    """
    return "pixels" in column_names(head)


def has_labels(head: bytes) -> bool:
    r"""Tell by its first line whether a CSV of faces says which expression each shows.

    >>> has_labels(b"emotion,pixels\n"), has_labels(b"pixels\n")
    (True, False)
    """
    return "emotion" in column_names(head)


def has_usage(head: bytes) -> bool:
    r"""Tell by its first line whether a CSV of faces tells the official split.

    >>> has_usage(b"emotion, Usage, pixels\n"), has_usage(b"emotion,pixels\n")
    (True, False)
    """
    return "usage" in column_names(head)


def parse_header(head: bytes, where: str) -> Header:
    r"""Find the columns of a CSV of faces, in any order.

    >>> parse_header(b"emotion, Usage, pixels\n", "icml_face_data.csv")
    Header(width=3, emotion=0, pixels=2, usage=1)
    """
    columns = column_names(head)
    if not has_labels(head):
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
    return Header(len(columns), columns.index("emotion"), columns.index("pixels"), usage)
