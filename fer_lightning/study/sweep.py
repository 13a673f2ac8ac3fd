"""The cells of a study as a W&B sweep, so that any number of agents train them."""

from collections.abc import Sequence
from pathlib import Path

import yaml

from fer_lightning.study.cells import Cell
from fer_lightning.study.plan import Study
from fer_lightning.tracking.run_folder import atomic


def write_sweep(path: Path, study: Study, cells: Sequence[Cell]) -> list[Path]:
    """Write the sweep, and beside it the whole configuration of each model; return the files.

    The grid's first parameter is the configuration, because later options win over it.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    first = {cell.model: cell for cell in reversed(cells)}
    configs = {
        model.name: path.with_name(f"{path.stem}-{model.name}.yaml") for model in study.models
    }
    for name, file_path in configs.items():
        with atomic(file_path) as file:
            file.write(first[name].config_text)
    sweep = {
        "name": study.name,
        "project": first[study.models[0].name].config["wandb"].get("project", "fer_lightning"),
        "method": "grid",
        "metric": {"name": "val/acc", "goal": "maximize"},
        "command": [
            *("${env}", "${interpreter}", "-m", "fer_lightning.cli", "fit", "${args}"),
        ],
        "parameters": {
            "config": {"values": [str(config) for config in configs.values()]},
            "data.fraction": {"values": list(study.fractions)},
            "seed_everything": {"values": list(study.seeds)},
        },
    }
    about = (
        f"# The cells of {study.path.name} as a grid; the runs count as done in the study:\n"
        f"#   wandb sweep {path}\n"
        "#   wandb agent ENTITY/PROJECT/ID      (on as many machines as there are)\n"
        f"#   fer-lightning sweep {path}      (with no account)\n"
        f"#   fer-lightning study {study.path} --results runs      (agents write there)\n"
    )
    with atomic(path) as file:
        file.write(about + yaml.safe_dump(sweep, sort_keys=False))
    return [path, *configs.values()]
