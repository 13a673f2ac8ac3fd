"""Weights & Biases: online where a key is configured, offline otherwise, never in the way."""

import functools
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import wandb
from lightning.pytorch.loggers import WandbLogger
from lightning.pytorch.utilities import rank_zero_only, rank_zero_warn

from fer_lightning import keys
from fer_lightning.tracking.rank import is_rank_zero
from fer_lightning.tracking.run_folder import RunFolder

Mode = Literal["online", "offline", "disabled"]


@dataclass(frozen=True)
class Wandb:
    """Where and how W&B tracks a run.

    Args:
        mode: ``auto`` is online when a key is configured, otherwise offline.
        project: name of the project.
        entity: user or team; your default one without it.
        group: name that runs belonging together share.
        tags: words to find the run by.
        log_model: upload the best checkpoint as an artifact at the end.
    """

    mode: Literal["auto", "online", "offline", "disabled"] = "auto"
    project: str = "fer_lightning"
    entity: str | None = None
    group: str | None = None
    tags: tuple[str, ...] = ()
    log_model: bool = False


def choose_mode(mode: Literal["auto", "online", "offline", "disabled"]) -> Mode:
    """Decide ``auto``: ``WANDB_MODE`` first, then online if there is a key."""
    if mode != "auto":
        return mode
    wanted = os.environ.get("WANDB_MODE", "online")
    if wanted in ("disabled", "dryrun", "offline"):
        return "disabled" if wanted == "disabled" else "offline"
    return "online" if has_key() else "offline"


def has_key() -> bool:
    """Whether a W&B key is configured; nobody is asked for one."""
    try:
        return bool(wandb.login(prompt=False, verify=False))
    except (wandb.errors.Error, ValueError) as error:  # e.g. a key of the wrong length
        rank_zero_warn(f"The configured W&B key cannot be used: {error}")
        return False


class _Nothing:
    """Takes every call and every attribute and does nothing."""

    def __getattr__(self, name: str) -> "_Nothing":
        return self

    def __call__(self, *args: Any, **kwargs: Any) -> "_Nothing":
        return self


def _never_fails(method: Callable[..., Any]) -> Callable[..., Any]:
    """After the first failure warn once and track nothing more on W&B."""

    @functools.wraps(method)
    def guarded(self: "WandbTracker", *args: Any, **kwargs: Any) -> Any:
        if self.failure is not None:
            return None
        try:
            return method(self, *args, **kwargs)
        except Exception as error:  # whatever W&B raises, training goes on
            self.failure = f"{type(error).__name__}: {error}"
            rank_zero_warn(
                f"W&B failed in {method.__name__} and is off for the rest of this run "
                f"({self.failure}). Training goes on; everything is in the run folder."
            )
            return None

    return guarded


class WandbTracker(WandbLogger):
    """`WandbLogger` with the epoch as the axis, whose failures never end a training."""

    def __init__(self, options: Wandb, folder: RunFolder, run_id: str) -> None:
        self.failure: str | None = None
        self.mode = choose_mode(options.mode)
        super().__init__(
            name=folder.path.name,
            save_dir=folder.path,
            id=os.environ.get("WANDB_RUN_ID", run_id),  # a sweep's agent chooses it
            project=options.project,
            log_model=options.log_model,
            entity=options.entity,
            group=options.group,
            tags=list(options.tags),
            mode=self.mode,
            resume="allow",
            settings=wandb.Settings(init_timeout=30, silent=self.mode != "online"),
        )
        self._wandb_init.pop("anonymous", None)  # W&B warns of it, whatever its value

    def how_to_sync(self) -> str:
        """Say in one line how W&B tracks the run."""
        return {
            "online": f"W&B tracks this run online, in project {self._project}",
            "offline": "W&B tracks this run offline (no key, or asked to); "
            f"to upload it later: wandb sync {self._save_dir}/wandb/offline-run-*",
            "disabled": "W&B is disabled for this run",
        }[self.mode]

    @property
    def experiment(self) -> Any:
        """The W&B run, started at first use; one that swallows everything after a failure."""
        if self._experiment is None and is_rank_zero():
            self._start()
            if self._experiment is None:
                return _Nothing()
        return super().experiment

    @_never_fails
    def _start(self) -> None:
        """Start the run, offline if the server cannot be reached."""
        try:
            run = super().experiment
        except wandb.errors.Error as error:
            if self.mode != "online":
                raise
            rank_zero_warn(f"W&B cannot be reached ({error}); this run is tracked offline.")
            self.mode = self._wandb_init["mode"] = "offline"
            run = super().experiment
        run.define_metric(keys.EPOCH)
        for stage in ("train", "val", "test"):
            run.define_metric(f"{stage}/*", step_metric=keys.EPOCH)

    log_metrics = _never_fails(WandbLogger.log_metrics)
    log_hyperparams = _never_fails(WandbLogger.log_hyperparams)
    log_image = _never_fails(WandbLogger.log_image)
    log_table = _never_fails(WandbLogger.log_table)
    finalize = _never_fails(WandbLogger.finalize)
    after_save_checkpoint = _never_fails(WandbLogger.after_save_checkpoint)

    @rank_zero_only
    @_never_fails
    def log_picture(self, name: str, path: Path, epoch: int) -> None:
        """Show a picture of the run folder at its epoch."""
        self.experiment.log({name: wandb.Image(str(path)), keys.EPOCH: epoch})

    @rank_zero_only
    @_never_fails
    def summarise(self, numbers: dict[str, Any]) -> None:
        """Put final values into the run's summary."""
        self.experiment.summary.update(numbers)

    @rank_zero_only
    @_never_fails
    def finish(self, exit_code: int = 0) -> None:
        """End the W&B run; call it last, also after an error."""
        if self._experiment is not None:
            self._experiment.finish(exit_code=exit_code)
