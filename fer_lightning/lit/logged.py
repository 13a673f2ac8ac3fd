"""What is logged of a pass over validation or test images, by its names."""

from torch import Tensor

from fer_lightning import keys
from fer_lightning.keys import Stage, key


def logged_metrics(
    stage: Stage, results: dict[str, Tensor], classes: tuple[str, ...]
) -> dict[str, Tensor]:
    """Name the numbers of `classification_metrics` as they are logged.

    >>> import torch
    >>> from fer_lightning.metrics.classification import classification_metrics
    >>> logits, labels = torch.eye(2), torch.tensor([0, 1])
    >>> names = logged_metrics("val", classification_metrics(logits, labels), ("sad", "happy"))
    >>> names["val/acc"].item(), "val/recall/happy" in names
    (1.0, True)
    """
    predicted = results["predicted"]
    numbers = {
        keys.LOSS: results["nll"],
        keys.ACC: results["acc"],
        keys.MACRO_F1: results["macro_f1"],
        keys.ECE: results["ece"],
        keys.ECE_FLOOR: results["ece_floor"],
        keys.TOP_CLASS_SHARE: predicted.max() / predicted.sum(),
        keys.PREDICTION_ENTROPY: results["predicted_entropy"],
    }
    named = {key(stage, name): value.float() for name, value in numbers.items()}
    recalls = zip(classes, results["recall"].float(), strict=True)
    return named | {key(stage, keys.RECALL, name): value for name, value in recalls}
