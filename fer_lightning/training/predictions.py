"""All predictions of a pass over the data, gathered from every rank and ordered by image."""

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy
from torchmetrics import Metric
from torchmetrics.functional.classification import (
    multiclass_calibration_error,
    multiclass_confusion_matrix,
)
from torchmetrics.utilities import dim_zero_cat

from fer_lightning.errors import Diverged, UserError


class Predictions(NamedTuple):
    """Place i of each tensor belongs to the same image; they are sorted by `row`."""

    row: Tensor  # (N,) of the image in its ImageSet
    label: Tensor  # (N,)
    logits: Tensor  # (N, K)


class GatherPredictions(Metric):
    """Collects logits by image, the same on one process and on many.

    >>> gather = GatherPredictions()
    >>> gather.update(torch.tensor([4, 2]), torch.tensor([1, 0]), torch.tensor([[0.1], [0.2]]))
    >>> gather.compute().row.tolist()
    [2, 4]
    """

    full_state_update = False
    row: list[Tensor]
    label: list[Tensor]
    logits: list[Tensor]

    def __init__(self) -> None:
        super().__init__()
        for name in Predictions._fields:
            self.add_state(name, default=[], dist_reduce_fx="cat")

    def update(self, row: Tensor, label: Tensor, logits: Tensor) -> None:
        """Add a batch; nothing is moved or synchronised."""
        self.row.append(row)
        self.label.append(label)
        self.logits.append(logits.detach().float())

    def compute(self) -> Predictions:
        """Return everything, one row per image."""
        row, label, logits = map(dim_zero_cat, (self.row, self.label, self.logits))
        order = torch.argsort(row)
        return Predictions(row[order], label[order], logits[order])


# --- How good, how calibrated and how varied a classifier's answers are, from its logits alone


# torchmetrics 1.9 puts a confidence of exactly 1.0 into a sixteenth bin of its own.
HIGHEST_CONFIDENCE = 1 - 1e-7


def classification_metrics(
    logits: Tensor, labels: Tensor, n_bins: int = 15, floor_draws: int = 100, seed: int = 0
) -> dict[str, Tensor]:
    """Compute every number we report about a set of predictions.

    Args:
        logits: (N, K) scores before softmax, any float type; computed in float64 on the CPU.
        labels: (N,) true classes 0..K-1.
        n_bins: Number of equally wide confidence bins of the calibration error.
        floor_draws: Monte-Carlo draws of `ece_floor`.
        seed: Seed of those draws.

    Returns:
        Tensors on the CPU, scalars unless a shape is given:
            acc: share of right answers.
            macro_f1: mean F1 over the classes present in `labels`; a class that is only predicted
                lowers the others' precision but has no F1 of its own.
            recall: (K,) per class, NaN for a class absent from `labels`.
            confusion: (K, K) counts, row = true class, column = predicted class.
            ece: expected calibration error (L1) of the highest softmax value.
            ece_floor: what a perfectly calibrated model with these confidences would score.
            nll: mean negative log likelihood, in nats.
            predicted: (K,) how often each class is predicted.
            predicted_entropy: entropy of that histogram in nats; 0 when only one class is
                predicted, log K at most.

    >>> logits = torch.tensor([[9.0, 0.0], [9.0, 0.0], [0.0, 9.0], [9.0, 0.0]])
    >>> result = classification_metrics(logits, torch.tensor([0, 0, 1, 1]))
    >>> result["acc"].item(), result["recall"].tolist(), result["confusion"].tolist()
    (0.75, [1.0, 0.5], [[2, 0], [1, 1]])
    >>> round(result["macro_f1"].item(), 4)  # mean of 4/5 and 2/3
    0.7333
    """
    _check(logits, labels)
    logits = logits.detach().double().cpu()
    labels = labels.detach().long().cpu()
    K = logits.shape[1]

    confusion = multiclass_confusion_matrix(logits.argmax(1), labels, num_classes=K)
    right = confusion.diagonal().double()
    true, predicted = confusion.sum(1), confusion.sum(0)  # each (K,)
    present = true > 0
    f1 = 2 * right / (true + predicted).clamp(min=1)
    share = predicted / predicted.sum().double()

    probabilities = logits.softmax(1).clamp(max=HIGHEST_CONFIDENCE)
    return {
        "acc": right.sum() / len(labels),
        "macro_f1": f1[present].mean(),
        "recall": right / true,  # 0 / 0 is the NaN we want
        "confusion": confusion,
        "ece": multiclass_calibration_error(probabilities, labels, num_classes=K, n_bins=n_bins),
        "ece_floor": ece_floor(probabilities.amax(1), n_bins, floor_draws, seed),
        "nll": cross_entropy(logits, labels),
        "predicted": predicted,
        "predicted_entropy": torch.special.entr(share).sum(),
    }


def ece_floor(confidence: Tensor, n_bins: int = 15, draws: int = 100, seed: int = 0) -> Tensor:
    """Estimate the calibration error that chance alone gives a perfectly calibrated model.

    Each draw makes answer i right with probability confidence[i]; the mean error over the draws is
    the floor. It falls with the square root of N: a measured ECE near it says nothing.

    Args:
        confidence: (N,) highest softmax values.
        n_bins: Number of equally wide bins, as for the calibration error itself.
        draws: Number of Monte-Carlo draws.
        seed: Seed of the draws.

    >>> bool(ece_floor(torch.full((3589,), 0.6)) < ece_floor(torch.full((200,), 0.6)))
    True
    >>> ece_floor(torch.ones(50)).item()  # certain and always right
    0.0
    """
    confidence = confidence.detach().double().cpu()
    generator = torch.Generator().manual_seed(seed)
    chance = torch.rand(draws, len(confidence), generator=generator)
    surplus = (chance < confidence).double() - confidence  # (draws, N), right minus expected
    edges = torch.linspace(0, 1, n_bins + 1, dtype=torch.float64)
    bins = (torch.bucketize(confidence, edges, right=True) - 1).clamp(0, n_bins - 1)
    per_bin = surplus.new_zeros(draws, n_bins).index_add_(1, bins, surplus)
    return per_bin.abs().sum(1).mean() / len(confidence)


def _check(logits: Tensor, labels: Tensor) -> None:
    """Refuse what would give a plausible but wrong number."""
    if logits.ndim != 2 or labels.ndim != 1 or len(logits) != len(labels) or logits.shape[1] < 2:
        raise UserError(
            "expected logits of shape (N, K) with K >= 2 and labels of shape (N,), but got "
            f"{tuple(logits.shape)} and {tuple(labels.shape)}: pass one row of scores per label."
        )
    if len(labels) == 0:
        raise UserError("expected at least one prediction, but got none: collect a batch first.")
    if labels.is_floating_point() or labels.min() < 0 or labels.max() >= logits.shape[1]:
        raise UserError(
            f"expected whole-number labels in 0..{logits.shape[1] - 1}, but got {labels.dtype} "
            f"from {labels.min().item()} to {labels.max().item()}: check num_classes."
        )
    if not logits.isfinite().all():
        raise Diverged(
            "expected finite logits, but got NaN or infinity: the model has diverged; lower the "
            "learning rate or clip gradients."
        )
