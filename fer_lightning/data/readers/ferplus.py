"""FERPlus: ten people's votes on each row of fer2013.csv, turned into labels.

``fer2013new.csv`` has the columns Usage, Image name and ten counts of votes; its row i belongs to
row i of ``fer2013.csv`` (Barsoum et al. 2016, https://arxiv.org/abs/1608.01041).
"""

import csv
import io
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fer_lightning.data.image_set import ImageSet, Usage
from fer_lightning.data.labels import FERPLUS_CLASSES, canonical
from fer_lightning.data.readers import limits
from fer_lightning.data.readers.fer2013 import parse_usage
from fer_lightning.data.readers.trees import unreadable
from fer_lightning.errors import UserError

NOT_A_FACE = ("unknown", "nf")
_COLUMNS = (*FERPLUS_CLASSES, *NOT_A_FACE)
_MAX_VOTES = 1000  # a count above it is no count of votes


class Votes(NamedTuple):
    """The file's content: (N, 10) int64 votes, columns as FERPLUS_CLASSES, unknown, NF; usages."""

    counts: NDArray[np.int64]
    usage: NDArray[np.int8]


class Verdict(NamedTuple):
    """What the votes say."""

    labels: NDArray[np.int64]  # (N,) index into FERPLUS_CLASSES; -1 where unknown or NF won
    soft: NDArray[np.float32]  # (N, 8) shares of the eight expressions' votes; 0 without any
    agreement: NDArray[np.float64]  # (N,) share of all votes that the winner got
    tied: NDArray[np.bool_]  # (N,) whether an expression won against as many other votes


def judge(counts: NDArray[np.int64], own_labels: NDArray[np.int64]) -> Verdict:
    """Turn votes into labels.

    Ties: an expression wins against unknown and NF; among expressions FER-2013's own label wins
    if it is one of the tied, otherwise the first in the order of FERPLUS_CLASSES.

    Args:
        counts: (N, 10) votes, columns as in `Votes`.
        own_labels: (N,) FER-2013's labels of the same rows.

    >>> votes = np.array([[4, 0, 0, 0, 4, 0, 1, 0, 1, 0], [0, 0, 0, 0, 0, 0, 0, 0, 3, 7]])
    >>> verdict = judge(votes, own_labels=np.array([4, 0]))
    >>> verdict.labels, verdict.agreement, verdict.tied
    (array([ 4, -1]), array([0.4, 0.7]), array([ True, False]))
    """
    expressions = counts[:, : len(FERPLUS_CLASSES)]
    most = counts.max(axis=1)
    total = counts.sum(axis=1)
    leads = (expressions == most[:, None]) & (most > 0)[:, None]  # (N, 8)
    rows = np.arange(len(counts))
    labels = np.where(leads[rows, own_labels], own_labels, leads.argmax(axis=1))
    labels = np.where(leads.any(axis=1), labels, -1)
    tied = (labels >= 0) & ((counts == most[:, None]).sum(axis=1) > 1)
    named = expressions.sum(axis=1, keepdims=True)
    soft = (expressions / np.maximum(named, 1)).astype(np.float32)
    return Verdict(labels, soft, most / np.maximum(total, 1), tied)


def join(
    faces: ImageSet, path: Path, *, soft_labels: bool = False, min_agreement: float = 0.0
) -> ImageSet:
    """Give the rows of ``fer2013.csv`` the labels that FERPlus' voters gave them.

    Rows won by unknown or NF, or by less than `min_agreement` of all votes, are left out and
    counted in the notes. Faces are every row of the CSV file, in its order.
    """
    if not 0 <= min_agreement <= 1:
        raise UserError(f"expected min_agreement from 0 to 1, but got {min_agreement}; change it")
    votes = _read_votes(path)
    if len(votes.counts) != len(faces):
        raise UserError(
            f"expected one row of votes for each of {len(faces):,} faces, but {path} has "
            f"{len(votes.counts):,}; use the whole fer2013.csv with fer2013new.csv"
        )
    other = np.flatnonzero((faces.usage != Usage.UNKNOWN) & (faces.usage != votes.usage))
    if len(other):
        raise UserError(
            f"expected the same Usage in faces and votes, but they differ in row {other[0] + 1} "
            f"of {path}; use fer2013.csv in its original order"
        )
    verdict = judge(votes.counts, faces.labels)
    no_face, weak = verdict.labels < 0, verdict.agreement < min_agreement
    keep = np.flatnonzero(~no_face & ~weak)
    if not len(keep):
        raise UserError(f"expected faces to remain, but min_agreement {min_agreement} leaves none")
    notes = {
        "FERPlus rows won by unknown or NF, dropped": int(no_face.sum()),
        "FERPlus rows below min_agreement, dropped": int((weak & ~no_face).sum()),
        "FERPlus ties decided": int(verdict.tied[keep].sum()),
    }
    is_whole = faces.name == "FER-2013"
    return replace(
        faces.subset(keep),
        name="FERPlus" if is_whole else f"FERPlus (partial, {len(keep):,} images)",
        labels=verdict.labels[keep],
        classes=FERPLUS_CLASSES,
        soft=verdict.soft[keep] if soft_labels else None,
        notes={**faces.notes, **notes},
    )


def _read_votes(path: Path) -> Votes:
    try:
        with path.open("rb") as file:
            data = file.read(limits.MAX_LIST_FILE + 1)
    except OSError as error:
        raise unreadable(path, error) from None
    lines = csv.reader(io.StringIO(data.decode("utf-8-sig", "replace"), newline=""))
    try:
        header = [canonical(name) for name in next(lines, [])]
        rows = [row for row in lines if any(field.strip() for field in row)]
    except csv.Error as error:
        raise UserError(f"expected FERPlus votes, but {path} is no CSV file ({error})") from None
    missing = [name for name in ("usage", *_COLUMNS) if name not in header]
    if missing or not rows:
        raise UserError(
            f"expected FERPlus votes (fer2013new.csv), but {path} "
            + (f"has no column {missing[0]}" if missing else "has no rows")
            + "; name the file from the FERPlus repository"
        )
    columns = [header.index(name) for name in _COLUMNS]
    usage_column = header.index("usage")
    counts = np.empty((len(rows), len(_COLUMNS)), np.int64)
    usage = np.empty(len(rows), np.int8)
    for index, row in enumerate(rows):
        place = f"row {index + 1} of {path}"
        if len(row) != len(header):
            raise UserError(
                f"expected {len(header)} columns, but got {len(row)} in {place}; "
                "the file is cut off or damaged: download it again"
            )
        counts[index] = [_count(row[column].strip(), place) for column in columns]
        part = row[usage_column].encode("utf-8", "replace")
        usage[index] = parse_usage(part, place, "download it again")
    return Votes(counts, usage)


def _count(field: str, place: str) -> int:
    if not (field.isascii() and field.isdigit() and len(field) < 9 and int(field) <= _MAX_VOTES):
        raise UserError(
            f"expected a number of votes, but got {field[:40]!r} in {place}; download it again"
        )
    return int(field)
