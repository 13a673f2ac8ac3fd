"""Writes the run folder: split, predictions, time, and at last the summary."""

import csv
import math
import time
from typing import Any

import lightning as L
import torch
from torch import Tensor

from fer_lightning import keys
from fer_lightning.data.labels import MOST_NAMED
from fer_lightning.keys import Stage, key
from fer_lightning.models import name_of
from fer_lightning.models.cost import count_multiply_adds, count_parameters, measure_cost
from fer_lightning.runs import hashes
from fer_lightning.runs.files import FILES, atomic, write_arrays, write_json
from fer_lightning.runs.folder import RunFolder
from fer_lightning.runs.provenance import code_version, hardware, substitutions, versions
from fer_lightning.tracking.tensorboard import TensorBoardTracker
from fer_lightning.tracking.tracker import MetricsCSV
from fer_lightning.tracking.wandb import WandbTracker
from fer_lightning.training.callbacks.typed import classifier, data_of
from fer_lightning.training.predictions import Predictions
from fer_lightning.training.transfer import count_learning


class Recorder(L.Callback):
    """Keeps everything in the run folder that W&B shows, on rank zero.

    Args:
        folder: the run's folder.
        metrics: the run's metrics.csv, cut back to the checkpoint when a run goes on.
        run: how the run was started; completed and written to run.json.
        config: the whole configuration, for the trackers.
        wandb: how W&B tracks the run; it can change when its server does not answer.
    """

    def __init__(
        self,
        folder: RunFolder,
        metrics: MetricsCSV,
        run: dict[str, Any],
        config: dict[str, Any],
        wandb: WandbTracker,
    ) -> None:
        self.folder, self.metrics, self.run = folder, metrics, run
        self.config, self.wandb = config, wandb
        self.seconds = 0.0  # of training, over all processes that worked on this run
        self.best: dict[str, Any] = {}
        self.best_of_another_run = False  # its checkpoint is not in this folder
        self.epochs = 0  # that are complete
        self.cost: dict[str, Any] = {}
        self.stage: str | None = None
        self._epoch_began = 0.0
        self._epoch_counted = False  # its time is in `seconds`

    def state_dict(self) -> dict[str, Any]:
        """What a resumed run must know."""
        return {"seconds": self.seconds, "best": self.best, "epochs": self.epochs}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over from an interrupted run; the test of a best checkpoint takes nothing over."""
        if self.stage == "fit":
            self.best_of_another_run = not self.folder.resumable
            self.seconds, self.best = state_dict["seconds"], state_dict["best"]
            self.epochs = state_dict["epochs"]

    def setup(self, trainer: L.Trainer, pl_module: L.LightningModule, stage: str) -> None:
        """Write what is known before the first step."""
        self.stage = stage
        data = data_of(trainer)
        self.run |= {
            "data": data.image_set.name,
            "fingerprint": data.image_set.fingerprint,
            "notes": data.image_set.notes,
            "split": {
                "protocol": data.split.protocol,
                "duplicates": data.split.duplicates,
                "counts": data.split.counts,
                "notes": data.split.notes,
            },
            "substitutions": self._substitutions(trainer),
            "model": name_of(classifier(pl_module).net),
            "parameters": count_parameters(classifier(pl_module).net),
            "multiply_adds": count_multiply_adds(classifier(pl_module).net),
            "learning_parameters": count_learning(classifier(pl_module).net),
            "fraction": data.fraction,
            "images": {part: len(getattr(data.split, part)) for part in ("train", "val", "test")},
            "classes": list(data.classes),
            "regions": data.image_set.regions and data.image_set.regions.to_dict(),
            "regions_from": data.regions_note,
            "hardware": hardware(),
            "processes": trainer.world_size,
            "versions": versions(),
            "code": code_version(),
        }
        if loaded := classifier(pl_module).loaded:
            self.run["transfer"] = loaded
        if trainer.is_global_zero and not self.folder.complete:
            write_json(self.folder.split, data.manifest())
            write_json(self.folder.run, self.run)
            for logger in trainer.loggers:
                logger.log_hyperparams(self.config | {"run": self.run})

    def _substitutions(self, trainer: L.Trainer) -> list[str]:
        device = trainer.strategy.root_device.type
        return substitutions(data_of(trainer).image_set.name, self.wandb.mode, device)

    def on_train_start(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Forget epochs that were logged but are not in the checkpoint."""
        self.metrics.cut_back(self.epochs)
        for logger in trainer.loggers:
            if isinstance(logger, TensorBoardTracker):
                logger.cut_back(self.epochs)

    def on_train_epoch_start(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Start the epoch's clock."""
        self._epoch_began = time.monotonic()
        self._epoch_counted = False

    def on_train_epoch_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Count the time of an epoch without validation."""
        if not self._epoch_counted:
            self.seconds += time.monotonic() - self._epoch_began

    def on_validation_start(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Log the speed of the training part of the epoch."""
        if trainer.state.fn == "fit" and not trainer.sanity_checking:
            seconds = time.monotonic() - self._epoch_began
            images = len(data_of(trainer).split.train)
            pl_module.log(key("train", keys.EPOCH_SECONDS), seconds)
            pl_module.log(key("train", keys.IMAGES_PER_SECOND), images / seconds)

    def on_validation_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Count the time and remember the best epoch's numbers."""
        if trainer.state.fn != "fit" or trainer.sanity_checking:
            return
        self.epochs = trainer.current_epoch + 1
        self.seconds += time.monotonic() - self._epoch_began
        self._epoch_counted = True
        found = as_plain(classifier(pl_module).results, data_of(trainer).classes)
        if not self.best or self.best_of_another_run or found["acc"] > self.best["acc"]:
            self.best = found | {"epoch": trainer.current_epoch}
            self.best_of_another_run = False

    def on_test_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Save the logits of the test images; time the model while it is on its device."""
        if trainer.is_global_zero:
            self.cost = measure_cost(classifier(pl_module).net)
            rows = {
                k: v.cpu().numpy() for k, v in classifier(pl_module).predictions._asdict().items()
            }
            write_arrays(self.folder.predictions, **rows)

    def on_predict_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Write one line per image: its file, its label, and the probability of each class."""
        if not trainer.is_global_zero:
            return
        data = data_of(trainer).image_set
        with atomic(self.folder.path / FILES["answers"].name) as file:
            rows = csv.writer(file, lineterminator="\n")
            rows.writerow(["file", "label", "predicted", *data.classes])
            for index, label, logits in zip(
                *map(list, classifier(pl_module).predictions), strict=True
            ):
                p = logits.softmax(0).tolist()
                answer = data.classes[p.index(max(p))]
                rows.writerow([data.files[index], data.classes[label], answer, *p])

    @property
    def about_best(self) -> dict[str, Any]:
        """What tells checkpoints of different runs apart."""
        scores = {name: self.best.get(name) for name in ("epoch", "acc", "macro_f1")}
        run = {
            name: self.run[name] for name in ("model", "data", "fingerprint", "fraction", "seed")
        }
        return run | {"val": scores}

    def finish(
        self, trainer: L.Trainer, pl_module: L.LightningModule, measured: Stage | None
    ) -> dict[str, Any]:
        """Write the summary, which says that the run is complete, and return it.

        Beside what was just measured it holds the best epoch's validation.
        """
        data = data_of(trainer)
        summary: dict[str, Any] = self.run | {
            "epochs": self.epochs,
            "best_epoch": self.best.get("epoch"),
            "seconds": round(self.seconds, 1),
            "substitutions": self._substitutions(trainer),
            **({"val": self.best} if self.best else {}),
        }
        if measured is not None:
            summary[measured] = as_plain(classifier(pl_module).results, data.classes)
        if measured == "test":
            for name in ("leaking", "near_twins"):
                rows = getattr(data.split, name)
                if rows is not None and 0 < len(rows) < len(data.split.test):
                    answers = classifier(pl_module).predictions
                    summary[name] = leak(answers, torch.as_tensor(rows))
        if self.cost:
            summary["cost"] = self.cost
        summary[keys.COMPLETED] = True
        hashes.finish(self.folder.path, summary)
        return summary


def leak(predictions: Predictions, leaking: Tensor) -> dict[str, float]:
    """Compare test images that have a twin among the training images with those that have none.

    >>> answers = Predictions(torch.tensor([4, 7]), torch.tensor([0, 1]), torch.eye(2)[[0, 0]])
    >>> leak(answers, torch.tensor([4]))
    {'images': 1, 'acc': 1.0, 'acc_others': 0.0}
    """
    right = (predictions.logits.argmax(1) == predictions.label).double().cpu()
    seen = torch.isin(predictions.row.cpu(), leaking)
    return {
        "images": int(seen.sum()),
        "acc": right[seen].mean().item(),
        "acc_others": right[~seen].mean().item(),
    }


def as_plain(results: dict[str, Tensor], classes: tuple[str, ...]) -> dict[str, Any]:
    """Turn the tensors of `classification_metrics` into numbers that JSON can hold.

    The confusion matrix of more than `MOST_NAMED` classes is left out: that of a thousand would
    take 11 MB, and follows from the predictions.
    """
    images = int(results["confusion"].sum())
    if len(classes) > MOST_NAMED:
        results = {name: value for name, value in results.items() if name != "confusion"}
    plain: dict[str, Any] = {k: v.tolist() for k, v in results.items()}
    recall = (None if math.isnan(r) else r for r in plain["recall"])
    return plain | {"recall": dict(zip(classes, recall, strict=True)), "images": images}
