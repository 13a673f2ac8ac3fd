"""What a tracker can show beside numbers; callbacks ask for this and for no tracker by name."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray


@runtime_checkable
class Tracker(Protocol):
    """Shows pictures and tables."""

    def log_picture(self, name: str, path: Path, epoch: int) -> None:
        """Show a picture of the run folder at its epoch."""

    def log_table(self, key: str, columns: list[str], data: list[list[Any]]) -> None:
        """Show a table."""


@runtime_checkable
class FeatureTracker(Protocol):
    """Shows points in feature space with their faces."""

    def log_features(
        self,
        name: str,
        features: NDArray[np.floating[Any]],
        labels: list[str],
        faces: NDArray[np.uint8],
    ) -> None:
        """Show (N, D) features, their N labels and (N, C, H, W) faces, in place of earlier ones."""


@runtime_checkable
class ConfusionTracker(Protocol):
    """Shows confusion matrices in its own way, beside our picture."""

    def log_confusion(
        self, name: str, counts: list[list[int]], classes: Sequence[str], epoch: int
    ) -> None:
        """Show images by true and predicted class at their epoch."""


@runtime_checkable
class AlertTracker(Protocol):
    """Reaches users who do not look at the terminal."""

    def alert(self, title: str, text: str) -> None:
        """Tell them; the title has at most 64 characters."""
