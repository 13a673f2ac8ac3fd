"""How files are read and which faces are drawn: the options under ``--data``."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Files:
    """How files are read.

    Args:
        class_names: names in the source to names of ours, e.g. ``{"1": "surprise"}``.
        image_size: side to which images are resized; needed where a source mixes sizes.
        colour: keep or drop colour; by default grey where every image is grey.
        on_corrupt: whether an unreadable image ends the run or is skipped and counted.
        ferplus: path of ``fer2013new.csv``, whose votes replace the labels of ``fer2013.csv``.
        soft_labels: train on the distribution of the votes instead of the majority.
        min_agreement: share of votes that the winning label must have.
    """

    class_names: dict[str, str] | None = None
    image_size: int | None = None
    colour: bool | None = None
    on_corrupt: Literal["error", "skip"] = "error"
    ferplus: str | None = None
    soft_labels: bool = False
    min_agreement: float = 0.0


@dataclass(frozen=True)
class Drawn:
    """Which faces are drawn.

    Args:
        size: number of faces.
        seed: seed of the drawing.
        image_size: side in pixels.
        cue: plants a pattern in the background that predicts the label.
        cue_strength: probability that the pattern agrees with the label.
        expression: ``random`` draws expressions that have nothing to do with the label.
        difficulty: from 0 (plain faces) to 1 (turned, dark, hidden, half-hearted).
    """

    size: int = 3000
    seed: int = 0
    image_size: int = 48
    cue: Literal["none", "background"] = "none"
    cue_strength: float = 1.0
    expression: Literal["label", "random"] = "label"
    difficulty: float = 0.5
