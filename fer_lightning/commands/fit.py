"""``fit``, ``validate``, ``test`` and ``predict``."""

import errno
import json
import logging
import secrets
import shlex
import sys
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import lightning as L
import yaml
from jsonargparse import ArgumentError
from lightning.pytorch.callbacks import ModelCheckpoint
from lightning.pytorch.cli import LightningArgumentParser, LightningCLI
from lightning.pytorch.utilities import rank_zero_only, rank_zero_warn
from lightning.pytorch.utilities.exceptions import MisconfigurationException
from rich.console import Console

from fer_lightning import keys
from fer_lightning.data.datamodule import FERDataModule
from fer_lightning.errors import UserError
from fer_lightning.keys import Stage, key
from fer_lightning.models import MODELS, find_model
from fer_lightning.models.registry import import_path
from fer_lightning.models.weights import tell
from fer_lightning.report.write import write_page
from fer_lightning.runs.folder import RunFolder, atomic, new_run_folder, unfinished_run
from fer_lightning.shipped import with_shipped_configs
from fer_lightning.tracking.metrics_csv import MetricsCSV
from fer_lightning.tracking.summary import summary_table
from fer_lightning.tracking.tensorboard import MISSING, TensorBoardTracker, is_installed
from fer_lightning.tracking.tracker import is_rank_zero
from fer_lightning.tracking.wandb import Wandb, WandbTracker, in_sweep
from fer_lightning.tracking.wandb_artifact import Fetched, fetch_weights
from fer_lightning.training.callbacks.alarm import LossAlarm
from fer_lightning.training.callbacks.early_stopping import FairEarlyStopping
from fer_lightning.training.callbacks.epoch_seed import EpochSeed
from fer_lightning.training.callbacks.progress import Progress
from fer_lightning.training.callbacks.recorder import Recorder
from fer_lightning.training.checkpoint import check_description, read_checkpoint
from fer_lightning.training.module import Classifier

# --- The options of a run beside those of trainer, model and data


LINKED = ("num_classes", "in_chans", "image_size")  # what the model takes from the data


def add_run_options(parser: LightningArgumentParser) -> None:
    """Add them to the parser of ``fit``, ``validate``, ``test`` or ``predict``."""
    parser.add_lightning_class_args(FairEarlyStopping, "early_stopping")
    parser.add_class_arguments(Wandb, "wandb")
    parser.add_argument("--runs_dir", type=str, default="runs", help="Folder of run folders.")
    parser.add_argument("--run_name", type=str | None, default=None, help="Name of the folder.")
    parser.add_argument(
        "--resume",
        nargs="?",
        const="same",
        type=str | None,
        default=None,
        help="Go on with the newest run of the same configuration, or with a run folder.",
    )
    parser.add_argument(
        "--from_artifact",
        "--from-artifact",
        type=str | None,
        default=None,
        help="Start from weights on W&B, ENTITY/PROJECT/NAME:ALIAS, as from transfer.weights.",
    )
    parser.add_argument(
        "--test_after_fit", type=bool, default=True, help="Test the best checkpoint after fit."
    )
    parser.add_argument(
        "--report", type=bool, default=True, help="Write report.html after fit and test."
    )
    parser.add_argument(
        "--tensorboard", type=bool, default=True, help="Write event files for TensorBoard."
    )
    for name in LINKED:
        target = f"model.net.init_args.{name}"
        parser.link_arguments(f"data.{name}", target, apply_on="instantiate")


# --- What a run starts with: its name, its folder, its identity, its checkpoints


def run_name(settings: Any, subcommand: str) -> str:
    """Return a folder name that tells runs apart: ``vit-30pct-seed42``."""
    if settings.run_name:
        return Path(settings.run_name).name
    fraction = settings.data.fraction
    parts = [
        *([] if subcommand == "fit" else [subcommand]),
        settings.model.net.class_path.rsplit(".", 1)[-1].lower(),
        *([] if fraction == 1 else [f"{100 * fraction:g}pct"]),
        f"seed{settings.seed_everything}",
    ]
    return "-".join(parts)


def earlier_run(root: Path, given: str, config: str) -> RunFolder:
    """Find the run to go on with.

    Args:
        root: folder of runs.
        given: a run folder, or ``same`` for the newest run of this configuration.
        config: the configuration as text.

    Raises:
        UserError: there is none.
    """
    same = given == "same"
    found = unfinished_run(root, config) if same else RunFolder(Path(given))
    if found is None or not found.config.is_file():
        raise UserError(
            "expected a run of this configuration to go on with but found none in "
            f"{root if same else given}; leave out --resume to start one"
        )
    return found


def run_facts(folder: RunFolder, seed: int, resuming: bool) -> dict[str, Any]:
    """How a run was started; a resumed run keeps its identity."""
    if resuming and folder.run.is_file():
        return json.loads(folder.run.read_text())
    return {
        "run": folder.path.name,
        "wandb_id": secrets.token_hex(4),
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": shlex.join(["fer-lightning", *sys.argv[1:]]),
        "seed": seed,
    }


def checkpointing(folder: RunFolder) -> list[ModelCheckpoint]:
    """Keep the best epoch by validation accuracy, and the last one to go on from."""
    where: dict[str, Any] = {"dirpath": folder.checkpoints, "enable_version_counter": False}
    best = ModelCheckpoint(filename="best", monitor=key("val", keys.ACC), mode="max", **where)
    return [best, ModelCheckpoint(filename="last", **where)]


def listed(value: Any) -> list[Any]:
    """Whatever a trainer argument allows, as a list of objects.

    >>> listed(None), listed(True), listed(1), listed((1, 2))
    ([], [], [1], [1, 2])
    """
    if value is None or isinstance(value, bool):
        return []
    return list(value) if isinstance(value, list | tuple) else [value]


# --- Weights on W&B that a training starts from: fetched before the model is made, then forgotten


class StartWeights:
    """An artifact that stands for ``model.transfer.weights``.

    Args:
        name: ``ENTITY/PROJECT/NAME:ALIAS``, or None.
    """

    def __init__(self, name: str | None) -> None:
        self.name = name
        self.fetched: Fetched | None = None
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    def fetch_into(self, transfer: Any, needed: bool) -> None:
        """Fetch the weights and give them to the model as a file.

        Args:
            transfer: the options of ``model.transfer``, which are changed.
            needed: otherwise a checkpoint of the run itself has them.

        Raises:
            UserError: a file is given too, or the artifact cannot be fetched.
        """
        if self.name is None:
            return
        if transfer.weights is not None:
            raise UserError(
                "expected --from_artifact or --model.transfer.weights but got both; leave one out"
            )
        transfer.weights = self.name
        if needed:
            self._folder = tempfile.TemporaryDirectory(prefix="fer_lightning-")
            self.fetched = fetch_weights(self.name, Path(self._folder.name))
            transfer.weights = str(self.fetched.path)

    def tell_of(self, loaded: list[dict[str, Any]]) -> None:
        """Name the artifact in the reports on what was loaded, and remove the file."""
        if self.fetched is not None and self._folder is not None:
            for report in loaded:
                report |= {"file": self.fetched.name, "digest": self.fetched.digest}
            self._folder.cleanup()


# --- What users type, made convenient: short model names in, clear sentences out


NET = "--model.net"
CONFIG = ("--config", "-c")


def with_class_paths(argv: list[str]) -> list[str]:
    """Write out the names of models: ``--model.net=vit`` and ``--model.net vit``.

    >>> with_class_paths(["fit", "--model.net=vit", "--model.net.depth=2"])
    ['fit', '--model.net=fer_lightning.models.vit.ViT', '--model.net.depth=2']
    """
    full = list(argv)
    for place, word in enumerate(argv):
        if word.startswith(f"{NET}="):
            full[place] = f"{NET}={_class_path(word.removeprefix(f'{NET}='))}"
        elif place and argv[place - 1] == NET:
            full[place] = _class_path(word)
    return full


def _class_path(name: str) -> str:
    if "." in name or name in (entry.model.__name__ for entry in MODELS.values()):
        return name
    return import_path(find_model(name))


def check_configs(argv: list[str]) -> None:
    """Name the file and the line of a config that is no YAML; the parser names neither."""
    for place, word in enumerate(argv):
        name = argv[place - 1] + "=" + word if place and argv[place - 1] in CONFIG else word
        option, _, path = name.partition("=")
        if option in CONFIG and Path(path).is_file():
            try:
                yaml.safe_load(Path(path).read_text())
            except (yaml.YAMLError, UnicodeDecodeError) as error:
                raise UserError(f"expected YAML in {path} but {_one_line(error)}") from error


@contextmanager
def user_errors() -> Iterator[None]:
    """Turn the parser's complaints into one sentence."""
    try:
        yield
    except ArgumentError as error:
        if str(error).endswith("model.net"):
            raise UserError(
                "expected a model but got none; give --config configs/vit.yaml, or --model.net "
                f"with one of {', '.join(MODELS)}"
            ) from error
        raise UserError(_one_line(error)) from error
    except ValueError as error:
        # an option that may be left out: the parser wraps the sentence in a list of types it tried
        if isinstance(error, UserError) or not isinstance(error.__cause__, UserError):
            raise
        raise error.__cause__ from None


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())


# --- LightningCLI with a run folder: one configuration in, one complete folder out


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


COMMANDS = ("fit", "validate", "test", "predict")
SEED = 42
TRAINER_DEFAULTS = {
    "max_epochs": 30,
    "num_sanity_val_steps": 0,
    "use_distributed_sampler": False,  # the data module's own samplers know the ranks
    "enable_model_summary": False,
}
HARMLESS = (  # warnings about what is so on purpose
    ".*does not have many workers.*",  # the data is in memory
    ".*smaller than the logging interval.*",  # logged at the end of epochs only
    ".*recommended to use .*sync_dist=True.*",  # predictions are gathered: equal on all ranks
    ".*The dirpath has changed from.*",  # a checkpoint of another run is measured
    ".*custom batch sampler `EvalBatches`.*",  # it returns each image once
    ".*predict returned None.*",  # predictions are gathered by image
    ".*LeafSpec.*",  # Lightning's own use of torch
    ".*Checkpoint directory .* exists and is not empty.*",  # created with the run folder
    r".*module\(s\) in eval mode at the start of training.*",  # what is frozen
)


def main(argv: list[str]) -> int:
    """Run one of the commands with its options."""
    for name in ("lightning.pytorch", "lightning.fabric"):
        logging.getLogger(name).setLevel(logging.WARNING)
    for harmless in HARMLESS:
        warnings.filterwarnings("ignore", message=harmless)
    no_exit = {"exit_on_error": False}  # errors become one sentence
    argv = with_shipped_configs(argv)
    check_configs(argv)
    with user_errors():
        TrainingCLI(
            Classifier,
            FERDataModule,
            save_config_callback=None,
            trainer_defaults=TRAINER_DEFAULTS,
            seed_everything_default=SEED,
            parser_kwargs=no_exit | dict.fromkeys(COMMANDS, no_exit),
            auto_configure_optimizers=False,
            load_from_checkpoint_support=False,
            args=argv,
        )
    return 0
