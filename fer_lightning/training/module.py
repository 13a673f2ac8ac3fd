"""The one LightningModule: trains any `VisionModel` and measures what it predicts."""

import math
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, Self

import lightning as L
import torch
import torch.nn.functional as F
from lightning.pytorch.utilities.types import OptimizerLRScheduler
from torch import Tensor

from fer_lightning import keys
from fer_lightning.errors import UserError
from fer_lightning.keys import Stage, key
from fer_lightning.models.base import VisionModel
from fer_lightning.training.checkpoint import check_description, describe_run, take_scale
from fer_lightning.training.compiled import Trial, batch_sizes, try_compiled
from fer_lightning.training.losses import (
    AdaptiveWeighting,
    AttentionRegulariser,
    Objective,
    Weighed,
)
from fer_lightning.training.optimizers import (
    Schedule,
    check_optimizer,
    make_optimizer,
    make_schedule,
)
from fer_lightning.training.predictions import (
    GatherPredictions,
    Predictions,
    classification_metrics,
)
from fer_lightning.training.transfer import Transfer, check_transfer, freeze, start_from

# --- What is logged of a pass over validation or test images, by its names


def logged_metrics(
    stage: Stage, results: dict[str, Tensor], classes: tuple[str, ...]
) -> dict[str, Tensor]:
    """Name the numbers of `classification_metrics` as they are logged.

    >>> import torch
    >>> from fer_lightning.training.predictions import classification_metrics
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


if TYPE_CHECKING:
    from fer_lightning.data.datamodule import FERDataModule


class Classifier(L.LightningModule):
    """Trains a model by cross-entropy.

    Args:
        net: the model; its classes, channels and image size come from the data.
        optimizer: any of timm's optimizer names.
        lr: learning rate (after warm-up).
        weight_decay: decay of weights, not of biases and norms.
        schedule: ``constant`` or ``cosine`` down to zero.
        warmup_epochs: epochs of linearly rising learning rate before the schedule.
        label_smoothing: share of each label that is spread over all classes.
        class_weights: ``balanced`` weighs a class by the inverse of its frequency.
        transfer: where the model starts from and what of it learns.
        compile: run the model through ``torch.compile``; training steps with a regulariser or
            weighting are not compiled. ``auto`` tries a few steps and compiles where the run ends
            earlier for it.
        regulariser: draws attention to face regions; ``train/loss`` stays the cross-entropy.
        weighting: weighs the images of a batch; ``train/loss`` stays their plain mean.
    """

    predictions: Predictions  # of the last validation or test pass, on every rank
    results: dict[str, Tensor]  # classification_metrics of the same pass
    loaded: list[dict[str, Any]] | None = None  # what came from files of weights

    def __init__(
        self,
        net: VisionModel,
        optimizer: str = "adam",
        lr: float = 3e-4,
        weight_decay: float = 0.0,
        schedule: Schedule = "constant",
        warmup_epochs: float = 0.0,
        label_smoothing: float = 0.0,
        class_weights: Literal["none", "balanced"] = "none",
        transfer: Transfer = Transfer(),  # noqa: B008 (frozen)
        compile: bool | Literal["auto"] = False,
        regulariser: AttentionRegulariser | None = None,
        weighting: AdaptiveWeighting | None = None,
    ) -> None:
        super().__init__()
        check_optimizer(optimizer, lr)
        if not 0 <= label_smoothing < 1:
            raise UserError(f"expected label_smoothing in [0, 1) but got {label_smoothing}")
        check_transfer(transfer, net)
        self.net, self.transfer = net, transfer
        freeze(net, transfer.freeze)
        self.optimizer_name, self.lr, self.weight_decay = optimizer, lr, weight_decay
        self.schedule, self.warmup_epochs = schedule, warmup_epochs
        self.label_smoothing, self.class_weights = label_smoothing, class_weights
        self.regulariser = regulariser
        self.objective = None
        if regulariser is not None or weighting is not None:
            self.objective = Objective(net, regulariser, weighting)
        self.register_buffer("loss_weight", None, persistent=False)
        self.gathered = GatherPredictions()
        self._steps: list[tuple[Tensor, Tensor, Tensor]] = []  # loss, logits, label
        self._terms: dict[str, list[Tensor]] = {}  # of the objective, by the name to log
        self.weighed: list[Weighed] = []  # this epoch's steps with adaptive weighting
        self.compiles = compile
        if compile is True:
            net.compile()

    def forward(self, x: Tensor) -> Tensor:
        """Return logits of images in [0, 1]."""
        return self.net(x)

    def setup(self, stage: str) -> None:
        """Take the scale of the data, weigh the classes, ask for masks, where wanted."""
        if stage == "fit":
            self.net.set_scale(**self._data.pixel_scale)
        if self.class_weights == "balanced" and stage == "fit":
            counts = torch.tensor(self._data.train_counts, device=self.device)
            self.loss_weight = counts.sum() / (len(counts) * counts.float())
        if self.regulariser is not None and stage == "fit":
            if self.regulariser.schedule != "constant" and (self.trainer.max_epochs or 0) < 1:
                raise UserError(
                    "expected max_epochs with a regulariser whose weight falls over the run but "
                    f"got {self.trainer.max_epochs}; set it or take the schedule constant"
                )
            self.check_data(self._data)
            self._data.add_masks(self.regulariser.region)

    def check_data(self, data: "FERDataModule") -> None:
        """Refuse data that a loss cannot work with; this reads it.

        Raises:
            UserError: the regulariser needs regions and the data has none.
        """
        if self.regulariser is not None:
            data.check_regions(self.regulariser.region)

    def choose_compiled(self, trainer: L.Trainer, data: "FERDataModule") -> Trial:
        """Try ``torch.compile`` on batches like those of a run; use it if the run ends earlier."""
        images, batch = len(data.split.train), data.batch_size
        per_epoch = math.ceil(images / (batch * trainer.world_size))
        planned = [trainer.max_steps, (trainer.max_epochs or 0) * per_epoch]
        steps = min((number for number in planned if number > 0), default=per_epoch)
        if self.objective is not None:
            return Trial(steps, 0, problem="a regulariser or weighting is not compiled")
        self.net.set_scale(**data.pixel_scale)
        seen, unseen = batch_sizes(images, batch), len(data.split.val)
        return try_compiled(
            self.net,
            seen,
            batch_sizes(unseen, data.eval_batch_size),
            steps,
            trainer.strategy.root_device,
            trainer.precision_plugin.forward_context,
        )

    def on_fit_start(self) -> None:
        """Start from other weights, where wanted, unless a training goes on."""
        if self.trainer.ckpt_path is None:
            self.load_pretrained()

    def load_pretrained(self) -> list[dict[str, Any]]:
        """Load the weights that the model starts from, once, and say what came from each file."""
        if self.loaded is None:
            self.loaded = start_from(self.net, self.transfer)
        return self.loaded

    def train(self, mode: bool = True) -> Self:
        """Set the mode of all but what is frozen, which stays as in evaluation."""
        super().train(mode)
        freeze(self.net, self.transfer.freeze)
        return self

    def training_step(self, batch: Any, batch_idx: int) -> Tensor:
        """One loss; nothing is synchronised or logged here, see `on_train_epoch_end`."""
        cross_entropy = partial(
            F.cross_entropy,
            target=batch.label if batch.soft is None else batch.soft,
            weight=self.loss_weight,
            label_smoothing=self.label_smoothing,
        )
        if self.objective is None:
            logits = self(batch.image)
            plain = loss = cross_entropy(logits)
        else:
            epochs = self.trainer.max_epochs or 1
            step = self.objective(self.net, batch, cross_entropy, self.current_epoch, epochs)
            logits, plain, loss = step.logits, step.plain, step.loss
            for name, value in step.terms.items():
                self._terms.setdefault(name, []).append(value)
            if step.weighed is not None:
                self.weighed.append(step.weighed)
        self._steps.append((plain.detach(), logits.detach(), batch.label))
        return loss

    def on_train_epoch_start(self) -> None:
        """Start the epoch's account."""
        self._steps.clear()
        self._terms.clear()
        self.weighed.clear()

    def _log_training(self) -> None:
        """Log loss and accuracy over the epoch, as trained: augmented, with dropout.

        This happens with the validation metrics, so that an epoch's numbers are written together
        and before its checkpoint.
        """
        loss, acc = self.training_so_far()
        self.log(key("train", keys.LOSS), loss, sync_dist=True)
        self.log(key("train", keys.ACC), acc, sync_dist=True)
        for name, values in self._terms.items():
            self.log(key("train", name), torch.stack(values).mean(), sync_dist=True)
        groups = self.trainer.optimizers[0].param_groups  # with layer_decay one a layer
        self.log(keys.LEARNING_RATE, max(group["lr"] for group in groups))

    def training_so_far(self, last_steps: int = 0) -> tuple[Tensor, Tensor]:
        """Mean loss and accuracy over this epoch's steps (or the last ones) on this rank."""
        losses, logits, labels = zip(*self._steps[-last_steps:], strict=True)
        right = torch.cat(logits).argmax(1) == torch.cat(labels)
        return torch.stack(losses).mean(), right.float().mean()

    def validation_step(self, batch: Any, batch_idx: int) -> None:
        """Collect predictions."""
        self.gathered.update(batch.row, batch.label, self(batch.image))

    test_step = predict_step = validation_step

    def on_validation_epoch_end(self) -> None:
        """Measure and log the validation predictions, and the training since the last ones."""
        self._measure("val")
        if self._steps:
            self._log_training()

    def on_test_epoch_end(self) -> None:
        """Measure and log the test predictions."""
        self._measure("test")

    def on_predict_epoch_end(self) -> None:
        """Keep the predictions; their labels may mean nothing."""
        self._gather()

    def _gather(self) -> Predictions:
        self.predictions = self.gathered.compute()
        self.gathered.reset()
        return self.predictions

    @property
    def _data(self) -> "FERDataModule":
        return self.trainer.datamodule  # type: ignore[attr-defined]

    def _measure(self, stage: Stage) -> None:
        """Gather once, then compute everything alike on every rank."""
        found = self._gather()
        self.results = classification_metrics(found.logits, found.label)
        self.log_dict(logged_metrics(stage, self.results, self._data.classes))

    def configure_optimizers(self) -> OptimizerLRScheduler:
        """Optimizer over the parameters that learn, schedule over the steps of the run."""
        optimizer = make_optimizer(
            self.net, self.optimizer_name, self.lr, self.weight_decay, self.transfer.layer_decay
        )
        own = [] if self.objective is None else list(self.objective.parameters())
        if own:
            optimizer.add_param_group({"params": own, "lr": self.lr, "weight_decay": 0.0})
        total = int(self.trainer.estimated_stepping_batches)
        self.trainer.fit_loop.setup_data()  # else unknown where max_steps decides
        batches = self.trainer.num_training_batches / self.trainer.accumulate_grad_batches
        warmup = round(self.warmup_epochs * math.ceil(batches))
        if self.schedule == "constant" and warmup == 0:
            return optimizer
        schedule = make_schedule(optimizer, self.schedule, warmup, total)
        return {
            "optimizer": optimizer,
            "lr_scheduler": {"scheduler": schedule, "interval": "step"},
        }

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Add what is needed to rebuild the model without any config."""
        describe_run(checkpoint, self.net, self._data)

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Refuse the weights of another model before they are loaded, and take over its scale."""
        check_description(checkpoint, self.net)
        fitting = self._trainer is not None and self._trainer.training
        take_scale(checkpoint, self.net, fitting)
