"""The whole configuration behind options of ``fit``, without training anything."""

from functools import cache
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
from fer_lightning.commands.run_data import NESTED
from fer_lightning.data.datamodule import FERDataModule
from fer_lightning.errors import UserError
from fer_lightning.shipped import with_shipped_configs
from fer_lightning.training.module import Classifier


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
        with user_errors():
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
