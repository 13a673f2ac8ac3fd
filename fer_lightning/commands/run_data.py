"""The data that a checkpoint was trained on, found again from its run folder."""

from pathlib import Path
from typing import Any

from fer_lightning.data.augment import Augmentation
from fer_lightning.data.datamodule import Defects, Drawn, FERDataModule, Files
from fer_lightning.errors import UserError
from fer_lightning.runs.files import read_config
from fer_lightning.runs.folder import RunFolder

NESTED = {"augmentation": Augmentation, "files": Files, "drawn": Drawn, "defects": Defects}


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
