"""What every reader returns: all images of a data set in memory, with what is known of each."""

import hashlib
from dataclasses import dataclass, field, replace
from enum import IntEnum
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from fer_lightning.data.labels import FERPLUS_CLASSES
from fer_lightning.data.regions import FACE, Regions


class Usage(IntEnum):
    """The part of its source's own split that an image belongs to.

    A ``validation/`` folder counts as PUBLIC_TEST, an undivided ``test/`` folder as PRIVATE_TEST.
    """

    UNKNOWN = -1
    TRAINING = 0
    PUBLIC_TEST = 1
    PRIVATE_TEST = 2


@dataclass(frozen=True)
class ImageSet:
    """A whole data set as arrays; row i of each array is image i.

    Args:
        name: what it is, for configs, summaries and figures, e.g. ``"FER-2013"``.
        images: (N, C, H, W) uint8, C = 1 or 3 (RGB); may be memory-mapped.
        labels: (N,) int64 class indices.
        usage: (N,) int8 values of `Usage`.
        classes: class names in label order.
        files: (N,) str, where each image came from: path inside the source, or ``"row 12"``.
        soft: (N, K) float32 label distributions, or None.
        masks: (N, R, H, W) bool exact region masks, or None; R follows `mask_regions`.
        mask_regions: the names of the regions in `masks`.
        scheme: which regions its pictures have; None where its classes tell, see `regions`.
        notes: what the reader left out or decided, as counts and sentences for the user.
        before_cue: the data set without the cue that was planted in it, by which its copies,
            landmarks and split are found; None where nothing was planted.
        independent: whether each picture was made on its own, as drawn ones are: then likeness is
            chance, and nobody looks for near-twins unless asked to.
    """

    name: str
    images: NDArray[np.uint8]
    labels: NDArray[np.int64]
    usage: NDArray[np.int8]
    classes: tuple[str, ...]
    files: NDArray[np.str_]
    soft: NDArray[np.float32] | None = None
    masks: NDArray[np.bool_] | None = None
    mask_regions: tuple[str, ...] = ()
    scheme: Regions | None = None
    notes: dict[str, object] = field(default_factory=dict)
    before_cue: "ImageSet | None" = None
    independent: bool = False
    known_fingerprint: str | None = None

    def __len__(self) -> int:
        return len(self.images)

    @property
    def unplanted(self) -> "ImageSet":
        """The data set as it was read, without a planted cue."""
        return self if self.before_cue is None else self.before_cue

    @property
    def regions(self) -> Regions | None:
        """The regions of its pictures: its own, a face's where all classes are expressions."""
        if self.scheme is None and set(self.classes) <= {*FERPLUS_CLASSES}:
            return FACE
        return self.scheme

    @cached_property
    def fingerprint(self) -> str:
        """Sixteen hex digits that change when an image, a label, its usage or the order changes."""
        if self.known_fingerprint is not None:
            return self.known_fingerprint
        digest = hashlib.sha256()
        digest.update(repr((self.images.shape, self.classes)).encode())
        for array in (self.images, self.labels, self.usage, self.soft):
            if array is not None:
                digest.update(np.ascontiguousarray(array).data)
        return digest.hexdigest()[:16]

    def subset(self, keep: NDArray[np.int64]) -> "ImageSet":
        """Return the images at the given rows, in that order, as a data set of its own."""
        return replace(
            self,
            images=self.images[keep],
            labels=self.labels[keep],
            usage=self.usage[keep],
            files=self.files[keep],
            soft=None if self.soft is None else self.soft[keep],
            masks=None if self.masks is None else self.masks[keep],
            before_cue=None if self.before_cue is None else self.before_cue.subset(keep),
            known_fingerprint=None,
        )
