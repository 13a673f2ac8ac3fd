"""Which data a study's configurations mean, and which cell a finished run is."""

import json
from functools import cache
from typing import Any

from fer_lightning.commands.resolve import data_of, resolve
from fer_lightning.data.datamodule import FERDataModule
from fer_lightning.study.identity import decisive, identity
from fer_lightning.study.run import Run

WHICH = ("data_dir", "source", "files", "drawn", "cache_dir")  # options that choose the images


def data_for(config: dict[str, Any]) -> FERDataModule:
    """Return the data of a configuration; those that mean the same images share them."""
    data = data_of(config)
    chosen = json.dumps({name: config["data"].get(name) for name in WHICH}, sort_keys=True)
    data.image_set = _first(chosen, json.dumps(config)).image_set
    return data


@cache
def _kept() -> dict[str, FERDataModule]:
    return {}


def _first(chosen: str, config: str) -> FERDataModule:
    """Return the first data module that was made for these images."""
    if chosen not in _kept():
        _kept()[chosen] = data_of(json.loads(config))
    return _kept()[chosen]


def fingerprint_of(config: dict[str, Any]) -> str:
    """Return the fingerprint of a configuration's images."""
    return data_for(config).image_set.fingerprint


def identify(run: Run) -> str:
    """Compute the identity of a finished run, which may be of an older version.

    Its configuration goes through today's parser, so that options which did not exist then have
    their default, as they had in effect.
    """
    if run.summary.get("processes") != 1:
        return ""  # several processes make larger batches
    config = resolve([f"--config={run.path / 'config.yaml'}"])
    return identity(decisive(config, run.fingerprint))
