"""Training a model from Python, into the same run folder that the command line makes."""

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, is_dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

import lightning as L
import yaml

from fer_lightning.api.runs import Run, load_run
from fer_lightning.api.training_run import (
    HARMLESS,
    INTERRUPTED,
    TRAINER_DEFAULTS,
    RunOptions,
    TrainingRun,
    without_warnings,
)
from fer_lightning.data.datamodule import FERDataModule
from fer_lightning.errors import UserError
from fer_lightning.models import VisionModel, create_model, name_of
from fer_lightning.models.registry import import_path
from fer_lightning.tracking.wandb import Wandb
from fer_lightning.training.callbacks.early_stopping import FairEarlyStopping
from fer_lightning.training.module import Classifier
from fer_lightning.training.optimizers import Schedule


def train(
    model: VisionModel | str,
    data: FERDataModule,
    max_epochs: int = 30,
    seed: int = 42,
    lr: float = 3e-4,
    *,
    optimizer: str = "adam",
    weight_decay: float = 0.0,
    schedule: Schedule = "constant",
    warmup_epochs: float = 0.0,
    label_smoothing: float = 0.0,
    class_weights: Literal["none", "balanced"] = "none",
    patience: int = 5,
    callbacks: Sequence[L.Callback] | None = None,
    run_dir: str | Path | None = None,
    wandb: Literal["auto", "online", "offline", "disabled"] = "disabled",
    tensorboard: bool = True,
    report: bool = True,
    resume: bool = False,
    quiet: bool = False,
    accelerator: str = "auto",
) -> Run:
    """Train a model, test its best epoch, and write a run folder.

    Afterwards the model has the weights that were tested.

    Args:
        model: made for these data (``create_model("vit", **data.sizes)``), or its name.
        data: of `load_data`, `drawn_faces` or `drawn_defects`, or any `FERDataModule`.
        max_epochs: passes over the training images.
        seed: of training.
        lr: learning rate.
        optimizer: any of timm's optimizer names.
        weight_decay: decay of weights, not of biases and norms.
        schedule: ``constant`` or ``cosine`` down to zero.
        warmup_epochs: epochs of linearly rising learning rate.
        label_smoothing: share of each label that is spread over all classes.
        class_weights: ``balanced`` weighs a class by the inverse of its frequency.
        patience: epochs without a better validation accuracy after which training ends.
        callbacks: such as those of ``fer_lightning.callbacks``.
        run_dir: the run folder; ``runs/MODEL-seedN`` without it. A number is added if it is there.
        wandb: how W&B tracks the run; ``auto`` is online when a key is configured.
        tensorboard: write event files for TensorBoard.
        report: write report.html.
        resume: go on with the newest run of the same settings beside `run_dir`.
        quiet: print nothing and show no progress bar.
        accelerator: of the Trainer.

    Raises:
        UserError: the model is made for other images, or an option is impossible.

    >>> import tempfile
    >>> from fer_lightning.api.data import drawn_faces
    >>> faces = drawn_faces(70, image_size=32)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     run = train(
    ...         "cnn", faces, max_epochs=1, run_dir=f"{folder}/run", report=False, quiet=True
    ...     )
    ...     run.name, list(run.metrics["epoch"])
    ('cnn-100pct-seed42', [0])
    """
    if isinstance(model, str):
        L.seed_everything(seed, verbose=False)
        model = create_model(model, **data.sizes)
    check_fits(model, data)
    settings: dict[str, Any] = {
        "optimizer": optimizer,
        "lr": lr,
        "weight_decay": weight_decay,
        "schedule": schedule,
        "warmup_epochs": warmup_epochs,
        "label_smoothing": label_smoothing,
        "class_weights": class_weights,
    }
    module = Classifier(model, **settings)
    place = Path("runs", f"{name_of(model)}-seed{seed}") if run_dir is None else Path(run_dir)
    watching = list(callbacks or ())
    options = RunOptions(
        config=config_text(model, data, settings, watching, seed, max_epochs, patience),
        runs_dir=place.parent,
        name=place.name,
        seed=seed,
        resume="same" if resume else None,
        wandb=Wandb(mode=wandb),
        tensorboard=tensorboard,
        report=report,
        command="fer_lightning.train",
        how_to_resume="by the same call with resume=True",
        quiet=quiet,
    )
    with _calm():
        L.seed_everything(seed, verbose=False)
        run = TrainingRun.to_fit(module, data, options)
        make = partial(
            L.Trainer,
            **TRAINER_DEFAULTS | {"max_epochs": max_epochs, "accelerator": accelerator},
            enable_progress_bar=not quiet,
        )
        run.make_trainer(make, (), [FairEarlyStopping(patience), *watching], not quiet)
        try:
            with run.tracked():
                run.fit(model=module, datamodule=data)
        except SystemExit as stop:
            raise KeyboardInterrupt if stop.code == INTERRUPTED else stop from stop
    model.eval()
    return load_run(run.folder.path)


def check_fits(model: VisionModel, data: FERDataModule) -> None:
    """Refuse a model that is made for other images or classes.

    Raises:
        UserError: it is.
    """
    other = [
        f"{name} {model.init_args[name]} instead of {value}"
        for name, value in data.sizes.items()
        if model.init_args.get(name, value) != value
    ]
    if other:
        raise UserError(
            f"expected a model for these data but got {name_of(model)} with {', '.join(other)}; "
            f"make it by create_model('{name_of(model)}', **data.sizes)"
        )


def config_text(
    model: VisionModel,
    data: FERDataModule,
    settings: dict[str, Any],
    callbacks: Sequence[L.Callback],
    seed: int,
    max_epochs: int,
    patience: int,
) -> str:
    """Write what was asked for as a config.yaml, which ``fer-lightning fit --config`` takes.

    What a file cannot say is named in a comment: pictures in memory, and callbacks as objects.
    """
    net_args = {k: _plain(v) for k, v in model.rebuild_args().items() if k not in data.sizes}
    config = {
        "seed_everything": seed,
        "trainer": {"max_epochs": max_epochs},
        "model": {
            "net": {"class_path": import_path(type(model)), "init_args": net_args},
            **settings,
        },
        "data": {k: _plain(v) for k, v in data.options.items()} | {"duplicates": data.duplicates},
        "early_stopping": {"patience": patience},
    }
    notes = []
    if data.in_memory:
        notes.append(f"# the pictures were given as arrays ({data.image_set.fingerprint})")
    if callbacks:
        names = ", ".join(type(callback).__name__ for callback in callbacks)
        notes.append(f"# callbacks given as objects: {names}")
    return "\n".join([*notes, yaml.safe_dump(config, sort_keys=False)])


def _plain(value: Any) -> Any:
    """Dataclasses as dicts, tuples as lists: what YAML can hold."""
    if is_dataclass(value) and not isinstance(value, type):
        return _plain(asdict(value))
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items()}
    return [_plain(one) for one in value] if isinstance(value, list | tuple) else value


@contextmanager
def _calm() -> Iterator[None]:
    """Keep Lightning from telling what is so on purpose."""
    loggers = [logging.getLogger(name) for name in ("lightning.pytorch", "lightning.fabric")]
    levels = [logger.level for logger in loggers]
    with without_warnings(HARMLESS):
        for logger in loggers:
            logger.setLevel(logging.WARNING)
        try:
            yield
        finally:
            for logger, level in zip(loggers, levels, strict=True):
                logger.setLevel(level)
