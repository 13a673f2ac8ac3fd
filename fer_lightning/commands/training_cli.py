"""LightningCLI with a run folder: one configuration in, one complete folder out."""

import errno
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import lightning as L
import yaml
from lightning.pytorch.cli import LightningArgumentParser, LightningCLI
from lightning.pytorch.utilities import rank_zero_only, rank_zero_warn
from lightning.pytorch.utilities.exceptions import MisconfigurationException
from rich.console import Console

from fer_lightning.callbacks.alarm import LossAlarm
from fer_lightning.callbacks.epoch_seed import EpochSeed
from fer_lightning.callbacks.progress import Progress
from fer_lightning.callbacks.recorder import Recorder
from fer_lightning.commands.arguments import with_class_paths
from fer_lightning.commands.run_options import add_run_options
from fer_lightning.commands.run_start import (
    checkpointing,
    earlier_run,
    listed,
    run_facts,
    run_name,
)
from fer_lightning.commands.start_weights import StartWeights
from fer_lightning.errors import UserError
from fer_lightning.keys import Stage
from fer_lightning.lit.checkpoint import check_description, read_checkpoint
from fer_lightning.models.pretrained import tell
from fer_lightning.study.report.write import write_page
from fer_lightning.tracking.metrics_csv import MetricsCSV
from fer_lightning.tracking.rank import is_rank_zero
from fer_lightning.tracking.run_folder import RunFolder, atomic, new_run_folder
from fer_lightning.tracking.summary import summary_table
from fer_lightning.tracking.tensorboard import MISSING, TensorBoardTracker, is_installed
from fer_lightning.tracking.wandb import Wandb, WandbTracker
from fer_lightning.tracking.wandb_sweep import in_sweep

DISK_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
INTERRUPTED, TERMINATED = 130, 143  # exit codes after Ctrl-C and SIGTERM


class TrainingCLI(LightningCLI):
    """``fit``, ``validate``, ``test`` and ``predict``."""

    def parse_arguments(self, parser: LightningArgumentParser, args: Any) -> None:
        """Parse, with short names of models written out."""
        self.config = parser.parse_args(with_class_paths(args))

    def add_arguments_to_parser(self, parser: LightningArgumentParser) -> None:
        """Add what a run needs beside trainer, model and data."""
        add_run_options(parser)

    def _parse_ckpt_path(self) -> None:
        """Leave the model to the configuration; `_check_inputs` compares it with the checkpoint."""

    @property
    def settings(self) -> Any:
        """The parsed options of the chosen command."""
        return self.config[self.subcommand]

    @property
    def resuming(self) -> bool:
        """Whether an earlier run goes on."""
        return self.subcommand == "fit" and self.settings.resume is not None

    def before_instantiate_classes(self) -> None:
        """Keep the configuration as the user gave it, then fetch what the model starts from."""
        self.config_text = self._dump()
        self.start = StartWeights(self.settings.get("from_artifact"))
        if self.subcommand == "fit" and self.start.name is not None:
            goes_on = self.resuming and self._open_folder().last_checkpoint.is_file()
            self.start.fetch_into(self.settings.model.transfer, needed=not goes_on)

    def _dump(self) -> str:
        """The configuration as text, without what differs between a run and its resumption."""
        settings = self.settings.clone()
        settings.resume = None
        return self._parser(self.subcommand).dump(settings, skip_unset=True, skip_validation=True)

    def _open_folder(self) -> RunFolder:
        """Find the run folder to go on with, or make a new one (on rank zero)."""
        root = Path(self.settings.runs_dir)
        if self.resuming:
            return earlier_run(root, self.settings.resume, self.config_text)
        name = run_name(self.settings, str(self.subcommand))
        made = is_rank_zero()  # other ranks only need a name: they neither read nor write it
        return new_run_folder(root, name) if made else RunFolder(root / name)

    def _check_inputs(self) -> None:
        """Find mistakes before anything is written."""
        _ = self.datamodule.split
        if self.subcommand == "fit":
            self.model.check_data(self.datamodule)
        path = self.settings.get("ckpt_path")
        if path is not None:
            check_description(read_checkpoint(path), self.model.net)
        elif self.subcommand == "fit" and (not self.resuming or self.start.fetched):
            self.start.tell_of(self.model.load_pretrained())
        elif self.subcommand != "fit":
            raise UserError(
                "expected --ckpt_path with a checkpoint but got none; "
                "it is checkpoints/best.ckpt in a run folder"
            )

    def instantiate_trainer(self, **kwargs: Any) -> L.Trainer:
        """Add the run folder's loggers and callbacks to those of the configuration."""
        self._check_inputs()
        self.folder = self._open_folder()
        run = run_facts(self.folder, self.settings.seed_everything, self.resuming)
        trainer = self.config_init[self.subcommand].trainer
        metrics = MetricsCSV(self.folder.metrics)
        self.wandb = WandbTracker(self._wandb_options(run), self.folder, run["wandb_id"])
        run |= self.wandb.place
        wanted = self.settings.tensorboard and is_installed()
        self.tensorboard = TensorBoardTracker(self.folder) if wanted else None
        self.recorder = Recorder(
            self.folder, metrics, run, yaml.safe_load(self.config_text), self.wandb
        )
        try:
            return super().instantiate_trainer(
                logger=[
                    *(metrics, self.wandb),
                    *([self.tensorboard] if self.tensorboard else []),
                    *listed(trainer.logger),
                ],
                callbacks=[
                    EpochSeed(self.settings.seed_everything),
                    self.recorder,
                    LossAlarm(),
                    *([] if trainer.enable_progress_bar is False else [Progress()]),
                    *listed(trainer.callbacks),
                    *checkpointing(self.folder),
                ],
                default_root_dir=str(self.folder.path),
                **kwargs,
            )
        except (MisconfigurationException, ValueError) as error:
            self.folder.remove_if_empty()
            raise UserError(f"expected options that the Trainer takes but {error}") from error

    def _wandb_options(self, run: dict[str, Any]) -> Wandb:
        """Where W&B tracks; a resumed run of a sweep stays in the sweep's project."""
        options: Wandb = self._get(self.config_init, "wandb")
        where = {name: run.get(f"wandb_{name}") for name in ("project", "entity")}
        return replace(options, **{name: place for name, place in where.items() if place})

    def _run_subcommand(self, subcommand: str) -> None:
        """Run it; whatever happens, say how to go on and close W&B."""
        code = 1
        try:
            super()._run_subcommand(subcommand)
            code = 0
        except SystemExit as stop:  # Lightning's answer to Ctrl-C (1) and SIGTERM
            code = INTERRUPTED if stop.code == 1 else TERMINATED
            if code == TERMINATED and in_sweep():
                code = 0  # an agent gives up after some failures, and this is none
            self._say(f"Stopped; go on with the same command and --resume ({self.folder.path})")
            raise SystemExit(code) from stop
        except OSError as error:
            if error.errno not in DISK_FULL:
                raise
            raise UserError(
                f"expected room for the run in {self.folder.path} but the disk is full "
                f"({error.strerror}); free some and go on with the same command and --resume"
            ) from error
        finally:
            self.wandb.finish(code)
            if self.tensorboard:
                self.tensorboard.finish()

    def fit(self, **kwargs: Any) -> None:
        """Train, from the last checkpoint where a run goes on, then test the best one.

        Where the test images have chosen the best one, the last one is tested.
        """
        if self.resuming and self.folder.complete:
            self._say(f"This run is complete: {self.folder.path}")
            self._show(json.loads(self.folder.summary.read_text()))
            return
        if self.resuming and self.folder.last_checkpoint.is_file():
            check_description(read_checkpoint(self.folder.last_checkpoint), self.model.net)
            kwargs["ckpt_path"] = str(self.folder.last_checkpoint)
        self._begin()
        self.wandb.note_use(self.start.name)
        self.trainer.fit(**kwargs | {"weights_only": True})
        if self.settings.test_after_fit:
            best, *_, last = self.trainer.checkpoint_callbacks
            chosen = last if self.datamodule.split.protocol == "train_test" else best
            path = chosen.best_model_path or None  # type: ignore[attr-defined]
            self.trainer.test(self.model, self.datamodule, path, verbose=False, weights_only=True)
        self._finish("test" if self.settings.test_after_fit else None)
        self.wandb.log_checkpoint(self.folder.best_checkpoint, self.recorder.about_best)
        if self.settings.test_after_fit and self.settings.report:
            self._report()

    def validate(self, **kwargs: Any) -> None:
        """Measure on the validation images."""
        self._evaluate(self.trainer.validate, kwargs | {"verbose": False})
        self._finish("val")

    def test(self, **kwargs: Any) -> None:
        """Measure on the test images."""
        self._evaluate(self.trainer.test, kwargs | {"verbose": False})
        self._finish("test")

    def predict(self, **kwargs: Any) -> None:
        """Write the probabilities of each class for every image."""
        self._evaluate(self.trainer.predict, kwargs | {"return_predictions": False})

    def _evaluate(self, run: Any, kwargs: dict[str, Any]) -> None:
        self._begin()
        run(**kwargs | {"weights_only": True})

    @rank_zero_only
    def _begin(self) -> None:
        """Write the configuration and say where everything goes."""
        if not self.folder.config.is_file():
            with atomic(self.folder.config) as file:
                file.write(self.config_text)
        self._say(
            f"Data: {self.datamodule.describe()}\n"
            f"Run folder: {self.folder.path}\n{self.wandb.how_to_sync()}"
        )
        if self.settings.tensorboard and not self.tensorboard:
            self._say(MISSING)
        for report in self.model.loaded or []:
            self._say(tell(report))

    @rank_zero_only
    def _finish(self, measured: Stage | None) -> None:
        """Write the summary, last, and show it."""
        summary = self.recorder.finish(self.trainer, self.model, measured)
        self.wandb.summarise(summary)
        if self.tensorboard:
            self.tensorboard.summarise(summary)
        self._show(summary)

    @rank_zero_only
    def _report(self) -> None:
        """Write the run's page; the run is complete, whatever happens to its pictures."""
        try:
            self._say(f"Report: {write_page(self.folder.path)}")
        except Exception as error:
            rank_zero_warn(
                f"No report.html was written ({type(error).__name__}: {error}); the run is "
                f"complete, try again with fer-lightning report {self.folder.path}"
            )

    @rank_zero_only
    def _show(self, summary: dict[str, Any]) -> None:
        Console().print(summary_table(summary, str(self.folder.path)))

    @rank_zero_only
    def _say(self, text: str) -> None:
        Console(stderr=True).print(text, highlight=False, soft_wrap=True, markup=False)
