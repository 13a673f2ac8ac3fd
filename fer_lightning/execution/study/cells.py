"""The cells of a study: one training each, with everything that it needs to know."""

import copy
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml

from fer_lightning.errors import UserError
from fer_lightning.execution.study.plan import ModelPlan, Study
from fer_lightning.runs.identity import decisive, identity
from fer_lightning.runs.run import cell_name

Config = dict[str, Any]


@dataclass(frozen=True)
class Cell:
    """One training of a study.

    Args:
        model: the study's name for the model.
        fraction: share of the training images.
        seed: of training.
        identity: hash of what decides the result.
        config: the whole configuration of the run.
    """

    model: str
    fraction: float
    seed: int
    identity: str
    config: Mapping[str, Any] = field(repr=False)

    @property
    def name(self) -> str:
        """The cell in words: ``vit-30pct-seed42``."""
        return cell_name(self.model, self.fraction, self.seed)

    @property
    def folder_name(self) -> str:
        """Its folder: an edited cell gets another one, and the old run stays."""
        return f"{self.name}-{self.identity[:8]}"

    @property
    def config_text(self) -> str:
        """Content of config.yaml."""
        return yaml.safe_dump(dict(self.config), sort_keys=False)


def fit_options(model: ModelPlan) -> list[str]:
    """Return a model's options for ``fit``.

    >>> fit_options(ModelPlan("vit", (), {"model.net.depth": 2, "trainer.callbacks": []}))
    ['--model.net=vit', '--model.net.depth=2', '--trainer.callbacks=[]']
    """
    net = [] if model.configs else [f"--model.net={model.name}"]
    configs = [f"--config={path}" for path in model.configs]
    overrides = [
        f"--{option}={value if isinstance(value, str) else json.dumps(value)}"
        for option, value in model.overrides.items()
    ]
    return [*net, *configs, *overrides]


def make_cells(
    study: Study,
    resolve: Callable[[list[str]], Config],
    fingerprint_of: Callable[[Config], str],
    data_dir: str | None = None,
) -> list[Cell]:
    """Write out the cells of a study, in the order in which they are trained.

    Smaller fractions and first seeds come first, so that a picture of everything appears early.

    Args:
        study: the study file.
        resolve: turns options of ``fit`` into the whole configuration.
        fingerprint_of: the fingerprint of a configuration's data.
        data_dir: the images, instead of what the study says.

    Raises:
        UserError: two cells with the same identity, or options that ``fit`` does not take.
    """
    where = data_dir or study.data_dir
    data = [] if where is None else [f"--data.data_dir={where}"]
    whole = {}
    for model in study.models:
        try:
            whole[model.name] = resolve([*fit_options(model), *data])
        except UserError as error:
            raise UserError(f"model {model.name} of {study.path}: {error}") from error
    fingerprints = {name: fingerprint_of(config) for name, config in whole.items()}
    _check_one_data_set(study, fingerprints)
    cells = [
        _cell(name, whole[name], fraction, seed, study.name, fingerprints[name])
        for seed in study.seeds
        for fraction in sorted(study.fractions)
        for name in whole
    ]
    _check_different(cells)
    return cells


def _cell(
    model: str, config: Config, fraction: float, seed: int, group: str, fingerprint: str
) -> Cell:
    config = copy.deepcopy(config)
    config["seed_everything"] = seed
    config["data"]["fraction"] = fraction
    config["report"] = False  # the study writes one of all cells
    if config["trainer"].get("devices", "auto") == "auto":
        config["trainer"]["devices"] = 1  # more would make the batches larger
    wandb = config.setdefault("wandb", {})
    wandb["group"] = wandb.get("group") or group
    wandb["tags"] = [*dict.fromkeys([*(wandb.get("tags") or ()), group, model])]
    return Cell(model, fraction, seed, identity(decisive(config, fingerprint)), config)


def _check_different(cells: list[Cell]) -> None:
    seen: dict[str, Cell] = {}
    for cell in cells:
        other = seen.setdefault(cell.identity, cell)
        if other is not cell:
            raise UserError(
                f"expected different cells but {other.name} and {cell.name} are the same "
                f"training ({cell.identity}); remove one of the models {other.model}, "
                f"{cell.model} or change its overrides"
            )


def _check_one_data_set(study: Study, fingerprints: Mapping[str, str]) -> None:
    first = next(iter(fingerprints))
    for name, fingerprint in fingerprints.items():
        if fingerprint != fingerprints[first]:
            raise UserError(
                f"expected one data set for all models of {study.path} but {first} has "
                f"{fingerprints[first]} and {name} {fingerprint}; give both the same data options"
            )
