"""What is wrong with a data set before training on it: copies, contradictions, blank images."""

import json
from dataclasses import asdict, dataclass, field

import numpy as np
from numpy.typing import NDArray
from rich.table import Table

from fer_lightning.data.image_set import ImageSet, Usage
from fer_lightning.data.labels import MOST_NAMED
from fer_lightning.data.twins import Twins, duplicate_groups
from fer_lightning.screen import counted

BLANK_STD = 1.0  # grey levels; an image that varies less shows nothing
USAGE_NAMES = {
    Usage.TRAINING: "Training",
    Usage.PUBLIC_TEST: "PublicTest",
    Usage.PRIVATE_TEST: "PrivateTest",
    Usage.UNKNOWN: "unknown",
}


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
    # pairs, mirrored pairs, groups with their images, pairs in different groups; None if not sought
    near_twins: dict[str, int] | None = None
    # per test part, images with an identical or near twin in Training
    near_twins_in_training: dict[str, int] = field(default_factory=dict)

    def to_json(self) -> str:
        """Return everything as JSON."""
        return json.dumps(asdict(self), indent=2)

    def tables(self) -> list[Table]:
        """Return the counts and the findings as tables for the terminal."""
        height, width = self.shape[1:]
        colour = "grey" if self.shape[0] == 1 else "colour"
        parts = list(self.counts.values())
        names = list(parts[0])
        many = len(names) > MOST_NAMED
        if many:
            names.sort(key=lambda name: -sum(part[name] for part in parts))
        some = f", the {MOST_NAMED} largest of {len(names):,} classes" if many else ""
        counts = Table(
            title=f"{self.name}: {self.images:,} {colour} images of {width}x{height}{some}",
            caption=f"fingerprint {self.fingerprint}",
        )
        counts.add_column("class")
        for usage in (*self.counts, "all"):
            counts.add_column(usage, justify="right")
        for name in names[:MOST_NAMED]:
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
        self._add_parts(table, "with a twin in Training", self.twins_in_training)
        if self.near_twins is not None:
            found = {name: f"{number:,}" for name, number in self.near_twins.items()}
            pairs = f"{counted(self.near_twins['pairs'], 'pair')}, {found['mirrored']} mirrored"
            table.add_row("near-twins (the same photograph)", pairs, "")
            table.add_row("in groups of twins and near-twins", found["images"], found["groups"])
            words = "with a twin or near-twin in Training"
            self._add_parts(table, words, self.near_twins_in_training)
        for what, value in self.notes.items():
            table.add_row(what, str(value), "")
        return table

    def _add_parts(self, table: Table, words: str, parts: dict[str, int]) -> None:
        for part, number in parts.items():
            share = number / sum(self.counts[part].values())
            table.add_row(f"{part} {words}", f"{number:,} ({share:.1%})", "")


def _with_sum(numbers: list[int]) -> list[str]:
    return [f"{number:,}" for number in (*numbers, sum(numbers))]


def audit(faces: ImageSet, twins: Twins | None = None) -> Audit:
    """Look for what makes a data set's accuracy mislead.

    Args:
        faces: the data set.
        twins: its near-twins, where they were sought.

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
    groups = duplicate_groups(faces.images) if twins is None else twins.copies
    size = np.bincount(groups, minlength=len(faces))  # at the row of each group's first image
    per_label = {(group, label) for group, label in zip(groups, faces.labels, strict=True)}
    labels_in_group = np.bincount([group for group, _ in per_label], minlength=len(faces))
    training = np.flatnonzero(faces.usage == Usage.TRAINING)
    present = [usage for usage in USAGE_NAMES if (faces.usage == usage).any()]
    tested = [usage for usage in (Usage.PUBLIC_TEST, Usage.PRIVATE_TEST) if usage in present]

    def per_part(found: NDArray[np.bool_]) -> dict[str, int]:
        return {
            USAGE_NAMES[usage]: int(found[faces.usage == usage].sum())
            for usage in (tested if len(training) else [])
        }

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
        twins_in_training=per_part(np.isin(groups, groups[training])),
        notes=faces.notes,
        near_twins=None if twins is None else _near(twins),
        near_twins_in_training={} if twins is None else per_part(twins.seen(training)),
    )


def _near(twins: Twins) -> dict[str, int]:
    size = np.bincount(twins.groups)
    return {
        "pairs": len(twins.pairs),
        "mirrored": int(twins.mirrored.sum()),
        "groups": int((size > 1).sum()),
        "images": int(size[size > 1].sum()),
        "apart": twins.apart,
    }
