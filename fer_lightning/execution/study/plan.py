"""The study file: which models, fractions and seeds make an experiment."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fer_lightning.errors import UserError, nearest
from fer_lightning.execution.study.yaml_file import read_mapping
from fer_lightning.shipped import find_beside

KEYS = (
    *("name", "models", "fractions", "seeds", "data", "overrides", "focus", "hypotheses"),
    "results",
)
NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,39}")  # becomes part of folder names
MOST_CELLS = 10_000
SET_BY_STUDY = ("data.fraction", "seed_everything", "run_name", "runs_dir", "resume", "config")


@dataclass(frozen=True)
class ModelPlan:
    """A model of a study: what ``fit`` gets beside fraction and seed.

    Args:
        name: the study's name for it.
        configs: files for ``--config``; without one, `name` is that of a registered model.
        overrides: dotted option to value, such as ``{"model.net.depth": 2}``.
    """

    name: str
    configs: tuple[Path, ...]
    overrides: Mapping[str, Any]


@dataclass(frozen=True)
class Study:
    """A study file's content; paths in it are relative to the file.

    Args:
        path: the file.
        name: of the study.
        models: in the order in which reports list them.
        fractions: shares of the training images.
        seeds: of training; the split has its own.
        data_dir: where the images are, if the file says so.
        focus_samples: test images that are looked at with all controls; None leaves this out.
        hypotheses: what the statistics shall answer, as they stand in the file.
        results: folder of finished runs that count as done.
    """

    path: Path
    name: str
    models: tuple[ModelPlan, ...]
    fractions: tuple[float, ...]
    seeds: tuple[int, ...]
    data_dir: str | None = None
    focus_samples: int | None = 200
    hypotheses: tuple[Mapping[str, Any], ...] = ()
    results: Path | None = None


def read_study(path: Path) -> Study:
    """Read a study file.

    Raises:
        UserError: no such file, no mapping, an unknown key, or a value that cannot be.
    """
    content = read_mapping(path)
    _known(content, KEYS, path)
    for key in ("models", "fractions", "seeds"):
        if key not in content:
            raise UserError(f"expected {key} in {path} but there are none; add them")
    data = _mapping(content.get("data"), "data", path)
    _known(data, ("data_dir",), path, "data.")
    focus = _mapping(content.get("focus", {}), "focus", path)
    _known(focus, ("samples",), path, "focus.")
    results = content.get("results")
    if results is not None and not isinstance(results, str):
        raise UserError(f"expected a folder as results in {path} but got {results!r:.60}")
    where = data.get("data_dir")
    study = Study(
        path,
        _name(content.get("name", path.stem), path),
        _models(content, path),
        tuple(float(f) for f in _numbers(content["fractions"], "fractions", path, 0, 1)),
        tuple(int(s) for s in _numbers(content["seeds"], "seeds", path, -1, 2**32 - 1, whole=True)),
        None if where is None else str(path.parent / str(where)),
        _samples(focus.get("samples", 200), path),
        _hypotheses(content.get("hypotheses"), path),
        None if results is None else path.parent / results,
    )
    if len(study.models) * len(study.fractions) * len(study.seeds) > MOST_CELLS:
        raise UserError(f"expected at most {MOST_CELLS:,} cells in {path} but it has more")
    return study


def _models(content: Mapping[str, Any], path: Path) -> tuple[ModelPlan, ...]:
    models = _mapping(content["models"], "models", path)
    if not models:
        raise UserError(f"expected at least one model in {path} but models is empty; add one")
    common = _overrides(content.get("overrides"), path)
    found = []
    for name, about in models.items():
        about = _mapping(about, f"models.{name}", path)
        _known(about, ("config", "overrides"), path, f"models.{name}.")
        configs = about.get("config", [])
        files = [
            find_beside(path.parent, str(c))
            for c in (configs if isinstance(configs, list) else [configs])
        ]
        for file in files:
            if not file.is_file():
                raise UserError(
                    f"expected the config of {name} at {file} but there is no file; paths in "
                    f"{path} are relative to it"
                )
        own = _overrides(about.get("overrides"), path)
        found.append(ModelPlan(_name(name, path), tuple(files), {**common, **own}))
    return tuple(found)


def _overrides(given: Any, path: Path) -> dict[str, Any]:
    overrides = _mapping(given, "overrides", path)
    for option in overrides:
        if option in SET_BY_STUDY:
            raise UserError(
                f"expected no override of {option} in {path}, which the study sets itself; "
                "use fractions, seeds, --data and --out"
            )
    return {str(option): value for option, value in overrides.items()}


def _numbers(
    given: Any, what: str, path: Path, above: float, most: float, whole: bool = False
) -> list[Any]:
    """Check a list of different numbers in (above, most]."""
    kind = int if whole else (int, float)
    if (
        not isinstance(given, list)
        or not given
        or not all(isinstance(n, kind) and not isinstance(n, bool) for n in given)
        or not all(math.isfinite(n) and above < n <= most for n in given)
    ):
        example = "[42, 43, 44]" if whole else "[0.3, 0.6, 1.0], each in (0, 1]"
        raise UserError(f"expected {what} in {path} such as {example} but got {given!r:.80}")
    if len(set(given)) < len(given):
        raise UserError(f"expected different {what} in {path} but got {given!r:.80}")
    return given


def _hypotheses(given: Any, path: Path) -> tuple[Mapping[str, Any], ...]:
    listed = [] if given is None else given
    if not isinstance(listed, list) or not all(isinstance(one, Mapping) for one in listed):
        raise UserError(f"expected a list of mappings as hypotheses in {path} but got another")
    return tuple(listed)


def _samples(given: Any, path: Path) -> int | None:
    if given is not None and (not isinstance(given, int) or isinstance(given, bool) or given < 2):
        raise UserError(
            f"expected focus.samples in {path} to be a number of images of at least 2, or null to "
            f"leave the controls out, but got {given!r:.40}"
        )
    return given


def _name(given: Any, path: Path) -> str:
    if not isinstance(given, str) or not NAME.fullmatch(given):
        raise UserError(
            f"expected names of letters, digits, '_', '-' and '.' in {path} but got {given!r:.60}"
        )
    return given


def _mapping(given: Any, what: str, path: Path) -> dict[Any, Any]:
    if given is None:
        return {}
    if not isinstance(given, dict):
        raise UserError(
            f"expected a mapping as {what} in {path} but got {type(given).__name__}; write "
            "'key: value' lines below it"
        )
    return given


def _known(content: Mapping[Any, Any], keys: tuple[str, ...], path: Path, where: str = "") -> None:
    for key in content:
        if key not in keys:
            raise UserError(
                f"expected a key of a study but got '{where}{key}' in {path}; "
                f"{nearest(str(key), keys)}"
            )
