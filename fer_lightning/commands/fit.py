"""``fit``, ``validate``, ``test`` and ``predict``."""

import logging
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

import lightning as L
from jsonargparse import ArgumentError
from jsonargparse.typing import PositiveInt
from lightning.pytorch.cli import LightningArgumentParser, LightningCLI

from fer_lightning.api.training_run import (
    HARMLESS,
    INTERRUPTED,
    TERMINATED,
    TRAINER_DEFAULTS,
    RunOptions,
    StartWeights,
    TrainingRun,
)
from fer_lightning.commands.option_errors import in_words
from fer_lightning.data.datamodule import FERDataModule
from fer_lightning.errors import UserError
from fer_lightning.models import MODELS, find_model
from fer_lightning.models.registry import import_path
from fer_lightning.schema import read_yaml
from fer_lightning.shipped import with_shipped_configs
from fer_lightning.tracking.wandb import Wandb
from fer_lightning.training.callbacks.early_stopping import FairEarlyStopping
from fer_lightning.training.module import Classifier

__all__ = ["INTERRUPTED", "TERMINATED", "TRAINER_DEFAULTS", "TrainingCLI", "main"]

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
    parser.add_argument(
        "--threads",
        type=PositiveInt | Literal["auto"] | None,
        default=None,
        help="Threads of torch: a number, or auto for as many as processors are idle at the start.",
    )
    for name in LINKED:
        target = f"model.net.init_args.{name}"
        parser.link_arguments(f"data.{name}", target, apply_on="instantiate")


# --- The name of a run


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


def listed(value: Any) -> list[Any]:
    """Whatever a trainer argument allows, as a list of objects.

    >>> listed(None), listed(True), listed(1), listed((1, 2))
    ([], [], [1], [1, 2])
    """
    if value is None or isinstance(value, bool):
        return []
    return list(value) if isinstance(value, list | tuple) else [value]


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
    """Name the file and the line of a config that is no YAML; the parser names neither.

    Raises:
        UserError: as `read_yaml`.
    """
    for place, word in enumerate(argv):
        name = argv[place - 1] + "=" + word if place and argv[place - 1] in CONFIG else word
        option, _, path = name.partition("=")
        if option in CONFIG and Path(path).is_file():
            read_yaml(Path(path))


@contextmanager
def user_errors(options: Iterable[str] = ()) -> Iterator[None]:
    """Turn the parser's complaints into one sentence, which may hint at one of the options."""
    try:
        yield
    except ArgumentError as error:
        if str(error).endswith("model.net"):
            raise UserError(
                "expected a model but got none; give --config configs/vit.yaml, or --model.net "
                f"with one of {', '.join(MODELS)}"
            ) from error
        raise UserError(in_words(str(error), options)) from error
    except ValueError as error:
        # an option that may be left out: the parser wraps the sentence in a list of types it tried
        if isinstance(error, UserError) or not isinstance(error.__cause__, UserError):
            raise
        raise error.__cause__ from None


# --- LightningCLI with a run folder: one configuration in, one complete folder out


class TrainingCLI(LightningCLI):
    """``fit``, ``validate``, ``test`` and ``predict``."""

    def parse_arguments(self, parser: LightningArgumentParser, args: Any) -> None:
        """Parse, with short names of models written out."""
        with user_errors(self.options):
            self.config = parser.parse_args(with_class_paths(args))

    @property
    def options(self) -> list[str]:
        """The options of all commands, with their dashes."""
        actions = (a for one in self._subcommand_parsers.values() for a in one._actions)
        return list(dict.fromkeys(name for action in actions for name in action.option_strings))

    def add_arguments_to_parser(self, parser: LightningArgumentParser) -> None:
        """Add what a run needs beside trainer, model and data."""
        add_run_options(parser)

    def _parse_ckpt_path(self) -> None:
        """Leave the model to the configuration; `TrainingRun` compares it with the checkpoint."""

    @property
    def settings(self) -> Any:
        """The parsed options of the chosen command."""
        return self.config[self.subcommand]

    @property
    def resuming(self) -> bool:
        """Whether an earlier run is resumed."""
        return self.subcommand == "fit" and self.settings.resume is not None

    def before_instantiate_classes(self) -> None:
        """Keep the configuration as the user gave it, then fetch what the model starts from."""
        self.config_text = self._dump()
        self.start = StartWeights(self.settings.get("from_artifact"))
        if self.subcommand == "fit" and self.start.name is not None:
            goes_on = self.resuming and bool(self._options().open_folder().resumable)
            self.start.fetch_into(self.settings.model.transfer, needed=not goes_on)

    def _dump(self) -> str:
        """The configuration as text, without what differs between a run and its resumption."""
        settings = self.settings.clone()
        settings.resume = None
        return self._parser(self.subcommand).dump(settings, skip_unset=True, skip_validation=True)

    def _options(self) -> RunOptions:
        """What a run is to do beside training, in the words of the library."""
        settings = self.settings
        return RunOptions(
            config=self.config_text,
            runs_dir=Path(settings.runs_dir),
            name=run_name(settings, str(self.subcommand)),
            seed=settings.seed_everything,
            resume=settings.resume if self.resuming else None,
            tensorboard=settings.tensorboard,
            test_after_fit=settings.test_after_fit,
            report=settings.report,
        )

    def instantiate_trainer(self, **kwargs: Any) -> L.Trainer:
        """Add the run folder's loggers and callbacks to those of the configuration."""
        path = self.settings.get("ckpt_path")
        if self.subcommand != "fit" and path is None:
            _ = self.datamodule.split  # a mistake in the data comes first
            raise UserError(
                "expected --ckpt_path with a checkpoint but got none; "
                "it is checkpoints/best.ckpt in a run folder"
            )
        options = replace(self._options(), wandb=self._get(self.config_init, "wandb"))
        if self.subcommand == "fit":
            self.training_run = TrainingRun.to_fit(
                self.model, self.datamodule, options, path, self.start
            )
        else:
            self.training_run = TrainingRun.to_measure(self.model, self.datamodule, options, path)
        trainer = self.config_init[self.subcommand].trainer
        return self.training_run.make_trainer(
            partial(super().instantiate_trainer, **kwargs),
            loggers=listed(trainer.logger),
            callbacks=listed(trainer.callbacks),
            progress=trainer.enable_progress_bar is not False,
        )

    def _run_subcommand(self, subcommand: str) -> None:
        """Run it; whatever happens, say how to resume and close the trackers."""
        with self.training_run.tracked():
            super()._run_subcommand(subcommand)

    def fit(self, **kwargs: Any) -> None:
        """Train, from the last checkpoint where a run is resumed, then test the best one."""
        self.training_run.fit(**kwargs)

    def validate(self, **kwargs: Any) -> None:
        """Measure on the validation images."""
        self.training_run.measure(self.trainer.validate, "val", **kwargs)

    def test(self, **kwargs: Any) -> None:
        """Measure on the test images."""
        self.training_run.measure(self.trainer.test, "test", **kwargs)

    def predict(self, **kwargs: Any) -> None:
        """Write the probabilities of each class for every image."""
        self.training_run.predict(**kwargs)


def plain_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    line: str | None = None,
) -> str:
    r"""Write a warning of ours for the person at the terminal, and others with their place.

    >>> plain_warning("it has not begun to learn", UserWarning, __file__, 1)
    'Note: it has not begun to learn\n'
    >>> plain_warning("old", FutureWarning, "torch/nn.py", 7)
    'torch/nn.py:7: old\n'
    """
    ours = Path(filename).is_relative_to(PACKAGE)
    return f"Note: {message}\n" if ours else f"{filename}:{lineno}: {message}\n"


COMMANDS = ("fit", "validate", "test", "predict")
PACKAGE = Path(__file__).parents[1]
SEED = 42


def main(argv: list[str]) -> int:
    """Run one of the commands with its options."""
    for name in ("lightning.pytorch", "lightning.fabric"):
        logging.getLogger(name).setLevel(logging.WARNING)
    for harmless in HARMLESS:
        warnings.filterwarnings("ignore", message=harmless)
    warnings.formatwarning = plain_warning
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
