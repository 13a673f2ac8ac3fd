"""The numbers of docs/model_card.md: the shipped model on FER-2013's PrivateTest.

FER2013=fer2013.zip python -m benchmarks.model_card [RUN]  (two minutes; RUN adds its float32)
"""

import os
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import torch
from scipy.stats import binomtest

from benchmarks.peers import twins
from fer_lightning.api.data import load_data
from fer_lightning.commands.checkpoints import Checkpoint, load_checkpoints
from fer_lightning.data.augment import to_float
from fer_lightning.look.controls.hiding import answers
from fer_lightning.training.predictions import classification_metrics

BINS = (0.0, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)  # of the confidence


def main(runs: list[str]) -> None:
    data = load_data(os.environ["FER2013"], split="official", duplicates="keep")
    data.setup("fit")
    test, labels = data.split.test, torch.from_numpy(data.image_set.labels[data.split.test])
    images = to_float(torch.from_numpy(data.image_set.images[test]))
    own, *others = load_checkpoints([Path("flagship"), *map(Path, runs)])
    seen = twins(data.image_set.images, data.split)
    kept = {"all": np.ones(len(test), bool), **{name: ~rows for name, rows in seen.items()}}
    first = logits(own, images)

    views = {"as shipped (float16)": first, "mean with its mirror image": mirrored(own, images)}
    views |= {f"{one.path} (float32)": logits(one, images) for one in others}
    header("answers", *kept)
    for name, answer in views.items():
        right = (answer.argmax(1) == labels).numpy()
        line(name, *(share(right[rows]) for rows in kept.values()))

    numbers = classification_metrics(first, labels)
    print()
    for name in ("macro_f1", "ece", "ece_floor", "nll"):
        print(f"{name} {float(numbers[name]):.3f}")

    header("class", "test faces", "recognised", "its answers that are right", "most taken for")
    counts, guess = numbers["confusion"].numpy(), first.argmax(1)
    for k, name in enumerate(own.classes):
        shares = counts[k] / counts[k].sum()
        shares[k] = -1  # not wrong
        most = int(shares.argmax())
        found = share((guess == k)[labels == k].numpy())
        precise = f"{100 * counts[k, k] / counts[:, k].sum():.1f} %"
        taken = f"{own.classes[most]} ({100 * shares[most]:.0f} %)"
        line(name, f"{counts[k].sum():,}", found, precise, taken)

    confidence, right = first.softmax(1).amax(1), (guess == labels).numpy()
    header("confidence", "test faces", "right")
    for low, high in pairwise(BINS):
        rows = ((confidence > low) & (confidence <= high)).numpy()
        if rows.any():
            line(f"{low:g} to {high:g}", f"{rows.sum():,}", share(right[rows]))


def logits(checkpoint: Checkpoint, images: torch.Tensor) -> torch.Tensor:
    return answers(checkpoint.net, images, 64)


def mirrored(checkpoint: Checkpoint, images: torch.Tensor) -> torch.Tensor:
    """Mean probabilities of a face and its mirror image, as logits."""
    one, other = (logits(checkpoint, view).softmax(1) for view in (images, images.flip(3)))
    return (one + other).div(2).log()


def share(right: np.ndarray) -> str:
    """A share with its exact 95 % interval."""
    found = binomtest(int(right.sum()), len(right)).proportion_ci(0.95)
    return f"{100 * right.mean():.1f} % ({100 * found.low:.1f} to {100 * found.high:.1f})"


def header(*names: str) -> None:
    print()
    line(*names)
    line(*("---" for _ in names))


def line(*cells: str) -> None:
    print(f"| {' | '.join(cells)} |")


if __name__ == "__main__":
    main(sys.argv[1:])
