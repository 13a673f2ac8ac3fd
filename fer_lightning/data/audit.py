"""What is wrong with a data set before training on it: copies, contradictions, blank images."""

import hashlib
import json
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray
from rich.table import Table

from fer_lightning.data.image_set import ImageSet, Usage

BLANK_STD = 1.0  # grey levels; an image that varies less shows nothing
USAGE_NAMES = {
    Usage.TRAINING: "Training",
    Usage.PUBLIC_TEST: "PublicTest",
    Usage.PRIVATE_TEST: "PrivateTest",
    Usage.UNKNOWN: "unknown",
}


def duplicate_groups(images: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Give identical images, (N, ...) uint8, the same group id, (N,): the row of their first.

    So ``groups[i] == i`` holds exactly for the first image of each group.
    """
    first_row: dict[bytes, int] = {}
    groups = np.empty(len(images), np.int64)
    for row, image in enumerate(images):
        # 16 bytes: two different images share a digest with probability below 1e-28 for 1e5 images
        digest = hashlib.blake2b(np.ascontiguousarray(image).data, digest_size=16).digest()
        groups[row] = first_row.setdefault(digest, row)
    return groups


def blank_images(images: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Tell which of (N, C, H, W) images show nothing: their grey levels deviate by less than 1."""
    blocks = [images[start : start + 2048] for start in range(0, len(images), 2048)]
    deviations = [block.reshape(len(block), -1).std(axis=1) for block in blocks]
    return np.concatenate(deviations) < BLANK_STD if deviations else np.empty(0, np.bool_)


@dataclass(frozen=True)
class Audit:
    """What an audit found."""

    name: str
    fingerprint: str
    images: int
    shape: tuple[int, ...]  # channels, height, width
    counts: dict[str, dict[str, int]]  # per usage and class; usages without any are left out
    copies: int  # images that equal an earlier one
    duplicate_groups: int  # of two or more identical images
    images_in_groups: int  # in such groups
    contradicting_groups: int  # whose images carry different labels
    blank: int  # images whose grey levels have a standard deviation below 1
    twins_in_training: dict[str, int]  # per test part, images with a twin in Training
    notes: dict[str, object]  # what the reader left out or decided

    def to_json(self) -> str:
        """Return everything as JSON."""
        return json.dumps(asdict(self), indent=2)

    def tables(self) -> list[Table]:
        """Return the counts and the findings as tables for the terminal."""
        height, width = self.shape[1:]
        colour = "grey" if self.shape[0] == 1 else "colour"
        counts = Table(
            title=f"{self.name}: {self.images:,} {colour} images of {width}x{height}",
            caption=f"fingerprint {self.fingerprint}",
        )
        parts = list(self.counts.values())
        counts.add_column("class")
        for usage in (*self.counts, "all"):
            counts.add_column(usage, justify="right")
        for name in parts[0]:
            counts.add_row(name, *_with_sum([part[name] for part in parts]))
        counts.add_section()
        counts.add_row("all", *_with_sum([sum(part.values()) for part in parts]))
        return [counts, self._findings()]

    def _findings(self) -> Table:
        table = Table("finding", title="Copies, contradictions, blank images")
        for column in ("images", "groups"):
            table.add_column(column, justify="right")
        groups = (f"{self.images_in_groups:,}", f"{self.duplicate_groups:,}")
        table.add_row("exact copies of another image", f"{self.copies:,}", "")
        table.add_row("in groups of identical images", *groups)
        table.add_row("groups with contradicting labels", "", f"{self.contradicting_groups:,}")
        table.add_row("blank (standard deviation below 1)", f"{self.blank:,}", "")
        for part, number in self.twins_in_training.items():
            share = number / sum(self.counts[part].values())
            table.add_row(f"{part} with a twin in Training", f"{number:,} ({share:.1%})", "")
        for what, value in self.notes.items():
            table.add_row(what, str(value), "")
        return table


def _with_sum(numbers: list[int]) -> list[str]:
    return [f"{number:,}" for number in (*numbers, sum(numbers))]


def audit(faces: ImageSet) -> Audit:
    """Look for what makes a data set's accuracy mislead.

    >>> images = np.arange(4, dtype=np.uint8).reshape(4, 1, 1, 1).repeat(9, axis=2)
    >>> images[3] = images[0]
    >>> found = audit(
    ...     ImageSet(
    ...         "four", images, np.array([0, 1, 0, 1]), np.array([0, 0, 2, 2], np.int8),
    ...         ("cat", "dog"), np.array(list("abcd"))
    ...     )
    ... )
    >>> found.copies, found.contradicting_groups, found.twins_in_training, found.blank
    (1, 1, {'PrivateTest': 1}, 4)
    """
    groups = duplicate_groups(faces.images)
    size = np.bincount(groups, minlength=len(faces))  # at the row of each group's first image
    per_label = {(group, label) for group, label in zip(groups, faces.labels, strict=True)}
    labels_in_group = np.bincount([group for group, _ in per_label], minlength=len(faces))
    in_training = np.zeros(len(faces), np.bool_)
    in_training[groups[faces.usage == Usage.TRAINING]] = True
    present = [usage for usage in USAGE_NAMES if (faces.usage == usage).any()]
    tested = [usage for usage in (Usage.PUBLIC_TEST, Usage.PRIVATE_TEST) if usage in present]
    return Audit(
        name=faces.name,
        fingerprint=faces.fingerprint,
        images=len(faces),
        shape=faces.images.shape[1:],
        counts={
            USAGE_NAMES[usage]: {
                name: int((faces.labels[faces.usage == usage] == label).sum())
                for label, name in enumerate(faces.classes)
            }
            for usage in present
        },
        copies=len(faces) - int((size > 0).sum()),
        duplicate_groups=int((size > 1).sum()),
        images_in_groups=int(size[size > 1].sum()),
        contradicting_groups=int((labels_in_group > 1).sum()),
        blank=int(blank_images(faces.images).sum()),
        twins_in_training={
            USAGE_NAMES[usage]: int(in_training[groups[faces.usage == usage]].sum())
            for usage in (tested if Usage.TRAINING in present else [])
        },
        notes=faces.notes,
    )
