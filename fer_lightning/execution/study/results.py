"""Results that accumulate: slim copies of finished runs, and finding finished runs again."""

import shutil
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import yaml
from numpy.typing import NDArray

from fer_lightning.errors import UserError
from fer_lightning.execution.study.cells import Cell, cell_facts
from fer_lightning.execution.study.plan import Study
from fer_lightning.runs.files import (
    CONTROLS,
    FILES,
    Answers,
    NearTwins,
    atomic,
    read_config,
    read_csv,
    read_json,
    write_arrays,
    write_json,
    write_near_twins,
)
from fer_lightning.runs.find import STUDY
from fer_lightning.runs.folder import RunFolder
from fer_lightning.runs.provenance import scrub
from fer_lightning.runs.run import Run, read_run

LIMIT = 325_000  # bytes of a slim copy with one method's tables
# bytes for each further method: 200 images take 120 kB, all controls of their maps, with the faces'
# own regions and the template's, 145 kB
LIMIT_OF_METHOD = 325_000
FOCUS = tuple(file for file in FILES.values() if file.remeasured)


def export_slim(run: Run, cell: Cell, target: Path, focus: Path | None = None) -> int:
    """Write a slim copy of a finished run: numbers and predictions, no faces, no machine paths.

    Returns:
        The copy's size in bytes.

    Raises:
        UserError: something else is at `target`, or the copy would be too large.
    """
    _check_target(target, cell)
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".slim.") as scratch:
        new = Path(scratch, "new")
        new.mkdir()
        before, after = RunFolder(run.path), RunFolder(new)
        write_json(after.summary, scrub(read_json(before.summary)))
        write_json(after.run, scrub(read_json(before.run)))
        config = scrub(read_config(before.config))
        after.config.write_text(yaml.safe_dump(config, sort_keys=False))
        if before.metrics.is_file():
            shutil.copyfile(before.metrics, after.metrics)
        _save_answers(run.predictions, after.predictions)
        _copy_focus(run.path if focus is None else focus, new)
        if run.near_twins is not None:
            found = NearTwins(run.fingerprint, run.near_twins)
            write_near_twins(new / FILES["near_twins"].name, found)
        write_json(new / FILES["cell"].name, cell_facts(cell))
        size = sum(file.stat().st_size for file in new.rglob("*") if file.is_file())
        methods = max(len(read_run(new).methods), 1)
        limit = LIMIT + (methods - 1) * LIMIT_OF_METHOD
        if size > limit:
            raise UserError(
                f"expected at most {limit:,} bytes for {cell.name} but got {size:,}; look at fewer "
                "images (focus.samples in the study file)"
            )
        if target.exists():
            target.rename(Path(scratch, "old"))
        new.rename(target)
    return size


def check_plan(target: Path, study: Study) -> None:
    """Refuse to mix the results of two studies.

    Raises:
        UserError: there are results of another study at `target`.
    """
    path = target / STUDY
    name = read_json(path).get("name") if path.is_file() else study.name
    if name != study.name:
        raise UserError(
            f"expected results of the study {study.name} or nothing at {target} but its {STUDY} is "
            f"of {name!r:.60}; export to another folder"
        )


def write_plan(root: Path, study: Study, folders: Sequence[tuple[Cell, str]]) -> None:
    """Write beside results what was planned: models, fractions, seeds, hypotheses and cells.

    Whoever judges results then knows how many tests were planned, and what is missing.

    Args:
        root: the study's folder, or one of exported cells.
        study: the plan; no path of the machine is written.
        folders: the cells, and where each lies or will lie, relative to `root`.
    """
    cells = [
        {
            "name": cell.name,
            **{name: getattr(cell, name) for name in ("model", "fraction", "seed", "identity")},
            "folder": folder,
        }
        for cell, folder in folders
    ]
    content = {
        "name": study.name,
        "file": study.path.name,
        "models": [model.name for model in study.models],
        "fractions": list(study.fractions),
        "seeds": list(study.seeds),
        "hypotheses": [dict(one) for one in study.hypotheses],
        **({"equal_steps": True} if study.equal_steps else {}),
        **({"rehearsed": True} if study.rehearsed else {}),
        "cells": cells,
    }
    root.mkdir(parents=True, exist_ok=True)
    write_json(root / STUDY, content)


def _check_target(target: Path, cell: Cell) -> None:
    if not target.exists():
        return
    mine = FILES["cell"].read(target) or {}
    if any(mine.get(name) != getattr(cell, name) for name in ("model", "fraction", "seed")):
        raise UserError(
            f"expected an earlier copy of {cell.name} or nothing at {target} but found something "
            "else; export to another folder"
        )


def _save_answers(answers: Answers, path: Path) -> None:
    """Save logits in half precision, with every answer as it was."""
    write_arrays(
        path,
        row=answers.row.astype(np.int32),
        label=answers.label.astype(np.int16),
        logits=halved(answers.logits),
    )


def halved(logits: NDArray[np.float32]) -> NDArray[np.floating]:
    """Round to half precision; where this makes a tie, the answer stays the largest.

    >>> halved(np.array([[1.0, 1.0001]], np.float32)).argmax(1).tolist()
    [1]
    """
    answer = logits.argmax(1)
    with np.errstate(over="ignore"):
        half = logits.astype(np.float16)
    if not np.isfinite(half).all():
        return logits
    tied = np.flatnonzero(half.argmax(1) != answer)
    half[tied, answer[tied]] = np.nextafter(half[tied].max(1), np.float16(np.inf))
    return half


def _copy_focus(source: Path, target: Path) -> None:
    """Copy what the focus command measured, otherwise what the fit did, without file names."""
    inner = source / CONTROLS if (source / CONTROLS / FILES["focus"].name).is_file() else source
    commanded = inner.name == CONTROLS or FILES["randomisation"].find(inner) is not None
    where = target / CONTROLS if commanded else target
    for file in FOCUS:
        path = file.find(inner)
        if path is not None:
            where.mkdir(exist_ok=True)
            table = read_csv(path).drop(columns="file", errors="ignore")
            table.to_csv(where / file.name, index=False, lineterminator="\n")


def find_done(
    cells: list[Cell], folders: list[Path], identify: Callable[[Run], str]
) -> dict[str, Path]:
    """Find the finished runs of cells among run folders: identity to folder."""
    wanted = {cell.identity for cell in cells}
    places = {(cell.fraction, cell.seed) for cell in cells}
    found: dict[str, Path] = {}
    for folder in folders:
        try:
            run = read_run(folder)
            unsure = run.identity not in wanted and (run.fraction, run.seed) in places
            known = identify(run) if unsure else run.identity
        except UserError:
            continue
        if known in wanted:
            found.setdefault(known, folder)
    return found


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
