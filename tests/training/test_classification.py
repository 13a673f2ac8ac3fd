import math

import pytest
import torch
from sklearn.metrics import confusion_matrix, f1_score, log_loss, recall_score

from fer_lightning.errors import UserError
from fer_lightning.training.predictions import classification_metrics, ece_floor


def predictions(n: int = 500, k: int = 7, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    labels = torch.randint(k, (n,), generator=generator)
    logits = 2 * torch.randn(n, k, generator=generator)
    logits[torch.arange(n), labels] += 1.5
    return logits, labels


def binned_ece(confidence: torch.Tensor, right: torch.Tensor, n_bins: int = 15) -> float:
    """The definition, bin by bin."""
    total = 0.0
    for b in range(n_bins):
        inside = (confidence >= b / n_bins) & (confidence < (b + 1) / n_bins)
        if inside.any():
            gap = confidence[inside].mean() - right[inside].double().mean()
            total += inside.double().mean().item() * abs(gap.item())
    return total


def test_equals_sklearn() -> None:
    logits, labels = predictions()
    result = classification_metrics(logits, labels)
    guess = logits.argmax(1)

    assert result["acc"].item() == pytest.approx((guess == labels).double().mean().item())
    assert result["macro_f1"].item() == pytest.approx(f1_score(labels, guess, average="macro"))
    assert result["recall"].tolist() == pytest.approx(recall_score(labels, guess, average=None))
    assert result["confusion"].tolist() == confusion_matrix(labels, guess).tolist()
    assert result["nll"].item() == pytest.approx(log_loss(labels, logits.double().softmax(1)))
    assert result["predicted"].tolist() == torch.bincount(guess, minlength=7).tolist()


def test_ece_equals_its_definition() -> None:
    logits, labels = predictions()
    confidence, guess = logits.double().softmax(1).max(1)
    expected = binned_ece(confidence, guess == labels)
    assert classification_metrics(logits, labels)["ece"].item() == pytest.approx(expected, abs=1e-6)


def test_a_confidence_of_one_shares_the_last_bin() -> None:
    # Confidences 1.0 (wrong) and 0.95 (right) fall into one bin: |0.5 - 0.975|.
    # Two bins would give (1.0 + 0.05) / 2 instead.
    logits = torch.tensor([[200.0, 0.0], [math.log(19), 0.0]])
    result = classification_metrics(logits, torch.tensor([1, 0]))
    assert result["ece"].item() == pytest.approx(0.475, abs=1e-5)


def test_macro_f1_is_over_the_present_classes() -> None:
    logits = torch.eye(4)[[0, 0, 1, 2]] * 5
    labels = torch.tensor([0, 0, 1, 1])  # 2 is only predicted, 3 appears nowhere
    result = classification_metrics(logits, labels)
    expected = f1_score(labels, logits.argmax(1), labels=[0, 1], average="macro")
    assert result["macro_f1"].item() == pytest.approx(expected)
    assert result["recall"][:2].tolist() == [1.0, 0.5]
    assert result["recall"][2:].isnan().all()


@pytest.mark.parametrize(("rows", "entropy"), [([3] * 7, 0.0), (list(range(7)), math.log(7))])
def test_predicted_entropy_sees_a_collapsed_model(rows: list[int], entropy: float) -> None:
    result = classification_metrics(torch.eye(7)[rows], torch.arange(7))
    assert result["predicted_entropy"].item() == pytest.approx(entropy)


def test_floor_of_one_bin_is_the_mean_deviation_of_a_binomial() -> None:
    # All confidences 0.5: the error is |Binomial(n, 1/2)/n - 1/2|, whose mean is sqrt(1/(2 pi n)).
    floor = ece_floor(torch.full((1000,), 0.5), draws=2000).item()
    assert floor == pytest.approx(math.sqrt(1 / (2 * math.pi * 1000)), rel=0.05)


def test_floor_is_what_calibrated_answers_score() -> None:
    logits, _ = predictions(n=200)
    generator = torch.Generator().manual_seed(1)
    measured = []
    for _ in range(100):
        labels = torch.multinomial(logits.softmax(1), 1, generator=generator).squeeze(1)
        measured.append(classification_metrics(logits, labels, floor_draws=1)["ece"].item())
    floor = classification_metrics(logits, labels)["ece_floor"].item()
    assert floor == pytest.approx(sum(measured) / 100, rel=0.1)


def test_floor_depends_on_the_seed_alone() -> None:
    confidence = torch.rand(100, generator=torch.Generator().manual_seed(0))
    assert ece_floor(confidence, seed=1) == ece_floor(confidence, seed=1)
    assert ece_floor(confidence, seed=1) != ece_floor(confidence, seed=2)


def test_half_precision_and_gradients_are_accepted() -> None:
    logits, labels = predictions()
    half = logits.to(torch.bfloat16).requires_grad_()
    result = classification_metrics(half, labels.to(torch.int32))
    same = classification_metrics(half.detach().float(), labels)
    assert not any(value.requires_grad for value in result.values())
    assert torch.equal(result["nll"], same["nll"])


@pytest.mark.parametrize(
    ("logits", "labels", "message"),
    [
        (torch.zeros(3, 7), torch.zeros(2, dtype=torch.long), r"shape \(N, K\)"),
        (torch.zeros(3, 1), torch.zeros(3, dtype=torch.long), "K >= 2"),
        (torch.zeros(0, 7), torch.zeros(0, dtype=torch.long), "at least one prediction"),
        (torch.zeros(2, 7), torch.tensor([0, 7]), r"labels in 0\.\.6.*from 0 to 7"),
        (torch.zeros(2, 7), torch.tensor([-1, 2]), r"from -1 to 2"),
        (torch.zeros(2, 7), torch.tensor([0.0, 1.0]), "whole-number labels"),
        (torch.full((2, 7), torch.nan), torch.tensor([0, 1]), "finite logits"),
    ],
)
def test_bad_input_is_refused(logits: torch.Tensor, labels: torch.Tensor, message: str) -> None:
    with pytest.raises(UserError, match=message):
        classification_metrics(logits, labels)
