"""The whole configuration behind options of ``fit``, without training anything."""

from functools import cache
from pathlib import Path
from typing import Any

import yaml

from fer_lightning.commands.fit import (
    COMMANDS,
    SEED,
    TRAINER_DEFAULTS,
    TrainingCLI,
    check_configs,
    user_errors,
    with_class_paths,
)
from fer_lightning.data.augment import Augmentation
from fer_lightning.data.cue import Cue
from fer_lightning.data.datamodule import Defects, Drawn, FERDataModule, Files
from fer_lightning.errors import UserError
from fer_lightning.models.shipped_weights import shipped
from fer_lightning.runs.files import read_config
from fer_lightning.runs.folder import RunFolder
from fer_lightning.shipped import with_shipped_configs
from fer_lightning.training.module import Classifier

# --- The data that a checkpoint was trained on, found again from its run folder


NESTED = {
    "augmentation": Augmentation,
    "files": Files,
    "drawn": Drawn,
    "defects": Defects,
    "cue": Cue,
}


def run_of(checkpoint: Path) -> RunFolder | None:
    """Return the run folder that a checkpoint lies in, or None if it lies alone."""
    for folder in (checkpoint.absolute().parent.parent, checkpoint.absolute().parent):
        if RunFolder(folder).config.is_file():
            return RunFolder(folder)
    return None


def data_of_run(
    checkpoint: Path, about: dict[str, Any], data_dir: str | None = None
) -> FERDataModule:
    """Set up the data of a checkpoint's run, with its split.

    Raises:
        UserError: no run folder and no `data_dir`; a damaged config; or another data set.
    """
    run = run_of(checkpoint)
    if run is None and data_dir is None and checkpoint in shipped().values():
        raise UserError(
            f"expected the data that {checkpoint.stem} was trained on ({about.get('data')}) but "
            "they do not come with the package; give them with --data_dir"
        )
    if run is None and data_dir is None:
        raise UserError(
            f"expected the config.yaml of a run beside {checkpoint} but found none; "
            "give the data with --data_dir"
        )
    options = {} if run is None else data_options(run.config)
    if data_dir is not None:
        options |= {"data_dir": data_dir, "source": "auto"}
    if run is not None and run.split.is_file():
        options["manifest"] = str(run.split)
    try:
        data = FERDataModule(**options)
    except TypeError as error:  # an argument that there is not, or of another type
        raise UserError(
            f"expected the data options of a run in {run.config if run else checkpoint} but it is "
            f"damaged or of another version ({error}); give a run folder of this version"
        ) from error
    found = data.image_set
    if found.fingerprint != about.get("fingerprint"):
        raise UserError(
            f"expected the data set that the checkpoint was trained on ({about.get('data')}, "
            f"{about.get('fingerprint')}) but got {found.name} ({found.fingerprint}); "
            "give its path with --data_dir"
        )
    return data


def data_options(config: Path) -> dict[str, Any]:
    """Read the ``data`` section of a config.yaml as arguments of `FERDataModule`.

    Raises:
        UserError: no YAML, or no such section.
    """
    try:
        section = dict(read_config(config)["data"])
        return section | {
            name: kind(**section[name]) for name, kind in NESTED.items() if name in section
        }
    except (UserError, KeyError, TypeError, ValueError) as error:
        reason = " ".join(str(error).split())
        raise UserError(
            f"expected the config.yaml of a run but could not read the data options in {config} "
            f"({reason:.200}); give the checkpoint of another run"
        ) from error


class Resolver(TrainingCLI):
    """Parses like ``fit`` and stops there."""

    def parse_arguments(self, parser: Any, args: Any) -> None:
        """Keep the parser; options come later."""
        self.config = {"subcommand": "fit", "fit": {}}

    def _set_seed(self) -> None:
        """Leave the process's randomness alone."""

    def instantiate_classes(self) -> None:
        """Make nothing."""

    def _run_subcommand(self, subcommand: str) -> None:
        """Run nothing."""

    def before_instantiate_classes(self) -> None:
        """There is no configuration yet."""

    def resolve(self, options: list[str]) -> dict[str, Any]:
        """Parse options and return everything that a run's config.yaml would hold."""
        argv = with_shipped_configs(["fit", *options])
        check_configs(argv)
        with user_errors(self.options):
            self.config = self.parser.parse_args(with_class_paths(argv))
        return yaml.safe_load(self._dump())


@cache
def resolver() -> Resolver:
    """Make the parser, once: it takes a second."""
    no_exit = {"exit_on_error": False}
    return Resolver(
        Classifier,
        FERDataModule,
        save_config_callback=None,
        trainer_defaults=TRAINER_DEFAULTS,
        seed_everything_default=SEED,
        parser_kwargs=no_exit | dict.fromkeys(COMMANDS, no_exit),
        auto_configure_optimizers=False,
        load_from_checkpoint_support=False,
        args=[],
    )


def resolve(options: list[str]) -> dict[str, Any]:
    """Return the whole configuration of ``fit`` with these options, defaults included.

    Raises:
        UserError: an option that there is not, or a value that it does not take.

    >>> resolve(["--model.net=vit", "--model.net.depth=2"])["model"]["net"]["init_args"]["depth"]
    2
    """
    return resolver().resolve(options)


def data_of(config: dict[str, Any]) -> FERDataModule:
    """Set up the data of a whole configuration; faces are never drawn in place of missing files.

    Raises:
        UserError: there are no files and the configuration does not ask for drawn faces.
    """
    options = dict(config["data"])
    for name, kind in NESTED.items():
        options[name] = kind(**options.get(name, {}))
    data = FERDataModule(**options)
    if data.source == "auto" and data.data_dir is None and data._path() is None:
        raise UserError(
            "expected the images of the study but got none; give them with --data, or draw faces "
            "with the override 'data.source: drawn'"
        )
    return data
