"""Some pictures of a data set, to be sliced like an array: ``data.test[:200]``."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import overload

import numpy as np
from numpy.typing import NDArray

from fer_lightning.data.image_set import ImageSet
from fer_lightning.data.landmarks import Landmarks
from fer_lightning.errors import UserError


@dataclass(frozen=True, repr=False)
class View:
    """Rows of an `ImageSet`; nothing is copied before `images` is asked for.

    Args:
        image_set: the whole data set.
        rows: (N,) places in it.
        landmarks: outlines of single faces, where a file was given.

    >>> from fer_lightning.data.faces import drawn_faces
    >>> view = View(drawn_faces(20), np.arange(5, 15))
    >>> len(view[:4]), view[[0, 2]].rows.tolist(), view[-1][0].shape
    (4, [5, 7], (1, 48, 48))
    """

    image_set: ImageSet
    rows: NDArray[np.int64]
    landmarks: Landmarks | None = None

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        return f"{len(self)} images of {self.image_set.name}"

    @overload
    def __getitem__(self, place: int) -> tuple[NDArray[np.uint8], int]: ...
    @overload
    def __getitem__(self, place: slice | Sequence[int] | NDArray) -> "View": ...
    def __getitem__(
        self, place: int | slice | Sequence[int] | NDArray
    ) -> "tuple[NDArray[np.uint8], int] | View":
        """One image (C, H, W) with its label, or a smaller view.

        Raises:
            UserError: there is no such image.
        """
        try:
            rows = self.rows[place]
        except IndexError as error:
            raise UserError(f"expected one of {len(self)} images but got {place!r:.40}") from error
        if isinstance(rows, np.ndarray):
            return replace(self, rows=rows)
        return self.image_set.images[rows], int(self.image_set.labels[rows])

    @property
    def images(self) -> NDArray[np.uint8]:
        """The pictures, (N, C, H, W)."""
        return np.ascontiguousarray(self.image_set.images[self.rows])

    @property
    def labels(self) -> NDArray[np.int64]:
        """Their classes, (N,)."""
        return self.image_set.labels[self.rows]

    @property
    def classes(self) -> tuple[str, ...]:
        """Class names in label order."""
        return self.image_set.classes

    @property
    def files(self) -> list[str]:
        """Where each image came from."""
        return [str(name) for name in self.image_set.files[self.rows]]
