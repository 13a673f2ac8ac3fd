"""What decides the result of a run, and its hash: the identity of a study's cell.

Two runs with the same identity differ by rounding and the order of random draws at most. So an
edited study trains only what the edit changed, and finished runs are found again wherever they are.
"""

import hashlib
import json
import sys
from collections.abc import Mapping
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

# Raise it when training code changes so that the same settings are expected to give other numbers.
# A new option needs no raise if its default leaves everything as it was.
RESULT_VERSION = 1

SECTIONS = ("trainer", "model", "data", "early_stopping")
# Where and how a run is computed and shown, not what comes out.
INDIFFERENT: dict[str, frozenset[str]] = {
    "trainer": frozenset(
        (
            *("accelerator", "strategy", "devices", "num_nodes", "logger", "profiler"),
            *("default_root_dir", "log_every_n_steps", "enable_checkpointing", "fast_dev_run"),
            *("enable_progress_bar", "enable_model_summary", "enable_autolog_hparams"),
            *("num_sanity_val_steps", "use_distributed_sampler", "inference_mode"),
            *("detect_anomaly", "barebones", "benchmark", "deterministic"),
        )
    ),
    "model": frozenset({"compile"}),
    # the fingerprint tells the images and labels, however they were read or drawn
    "data": frozenset(
        (
            *("data_dir", "source", "drawn", "cache_dir", "num_workers", "eval_batch_size"),
            *("predict_part", "files", "defects", "cue"),
        )
    ),
    "early_stopping": frozenset(),
}
# Lightning's callbacks that leave a model as it is; others say so by `only_looks`.
LOOKING = frozenset(
    (
        *("RichProgressBar", "TQDMProgressBar", "RichModelSummary", "ModelSummary"),
        *("LearningRateMonitor", "DeviceStatsMonitor", "ThroughputMonitor"),
    )
)
FILES = frozenset({"manifest", "weights", "landmarks"})  # options whose file decides, not its name
OURS = {  # where classes of ours are, were, and how an identity names them
    "fer_lightning.models.": "fer_lightning.models.",
    "fer_lightning.callbacks.": "fer_lightning.callbacks.",
    "fer_lightning.look.callbacks.": "fer_lightning.callbacks.",
    "fer_lightning.training.callbacks.": "fer_lightning.callbacks.",
    "fer_lightning.training.": "fer_lightning.lit.",
}
# options that came after the first results, where they say what had been so before
AS_BEFORE = {
    "data.scale": "unit",
    "data.augmentation.erase": 0,
    "model.net.init_args.init": "trunc_normal",
}
SHIPPED_LANDMARKS = "shipped 1"  # raise it with other landmarks of FER-2013 in the package
REGION_OPTIONS = ("landmarks", "masks", "regions")  # decide only where a loss uses regions


def decisive(config: Mapping[str, Any], fingerprint: str) -> dict[str, Any]:
    """Keep of a run's whole configuration what decides its result.

    >>> config = {"seed_everything": 1, "trainer": {"max_epochs": 2, "devices": 1}, "run_name": "a"}
    >>> decisive(config, "f")["trainer"]
    {'max_epochs': 2}
    """
    kept: dict[str, Any] = {
        name: _plain(
            {k: v for k, v in (config.get(name) or {}).items() if k not in INDIFFERENT[name]}
        )
        for name in SECTIONS
    }
    if (config.get("model") or {}).get("regulariser"):
        kept["data"] = _with_landmarks(kept["data"], config.get("data") or {})
    else:
        kept["data"] = {k: v for k, v in kept["data"].items() if k not in REGION_OPTIONS}
    for option, before in AS_BEFORE.items():
        _drop(kept, option.split("."), before)
    artifact = config.get("from_artifact")
    soft = (config.get("data") or {}).get("files") or {}
    return {
        "version": RESULT_VERSION,
        "fingerprint": fingerprint,
        "seed": config.get("seed_everything"),
        "test_after_fit": config.get("test_after_fit", True),
        "soft_labels": bool(soft.get("soft_labels")),
        **({"from_artifact": artifact} if artifact else {}),
        **kept,
    }


def _drop(kept: dict[str, Any], path: list[str], value: Any) -> None:
    """Remove an option if it has this value.

    >>> kept = {"data": {"scale": "unit", "split": "ratio"}}
    >>> _drop(kept, ["data", "scale"], "unit"); kept
    {'data': {'split': 'ratio'}}
    """
    name, *inner = path
    if inner and isinstance(kept.get(name), dict):
        _drop(kept[name], inner, value)
    elif not inner and kept.get(name) == value:
        del kept[name]


def _with_landmarks(kept: dict[str, Any], options: Mapping[str, Any]) -> dict[str, Any]:
    """Say which landmarks a loss on regions used: shipped ones came after the first results.

    >>> _with_landmarks({}, {"source": "auto"}), _with_landmarks({"landmarks": "none"}, {})
    ({'landmarks': 'shipped 1'}, {})
    """
    if kept.get("landmarks") in ("none", "template"):
        return {k: v for k, v in kept.items() if k != "landmarks"}
    own_masks = options.get("source") in ("drawn", "defects") or options.get("masks")
    return kept if own_masks or "landmarks" in kept else {**kept, "landmarks": SHIPPED_LANDMARKS}


def identity(decides: Mapping[str, Any]) -> str:
    """Return sixteen hex digits.

    >>> identity({"a": 1, "b": 2}) == identity({"b": 2, "a": 1})
    True
    """
    text = json.dumps(decides, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _plain(value: Any, name: str = "") -> Any:
    """Write equal settings equally: nothing empty, 1.0 as 1, files by content."""
    if isinstance(value, Mapping):
        items = {k: _plain(v, str(k)) for k, v in value.items()}
        return {k: v for k, v in items.items() if v is not None and v != {} and v != []}
    if isinstance(value, list | tuple):
        plain = [_plain(v) for v in value]
        return [v for v in plain if not _only_looks(v)] if name == "callbacks" else plain
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if name == "class_path":
        return short_path(str(value))
    if name in FILES and isinstance(value, str) and Path(value).is_file():
        with Path(value).open("rb") as file:
            return "sha256:" + hashlib.file_digest(file, "sha256").hexdigest()
    return value


def _only_looks(callback: Any) -> bool:
    """Ask a callback's class whether it changes nothing; nothing foreign is imported for that."""
    path = callback.get("class_path", "") if isinstance(callback, Mapping) else ""
    module, _, name = str(path).rpartition(".")
    if name in LOOKING:
        return True
    if module.startswith("fer_lightning"):
        with suppress(ImportError):
            import_module(module)
    return bool(getattr(getattr(sys.modules.get(module), name, None), "only_looks", False))


def short_path(path: str) -> str:
    """Write a class of ours without its module: all are exported by their package.

    >>> short_path("fer_lightning.models.vit.ViT"), short_path("torch.nn.Linear")
    ('fer_lightning.models.ViT', 'torch.nn.Linear')
    """
    for package, known_as in OURS.items():
        if path.startswith(package):
            return known_as + path.rsplit(".", 1)[-1]
    return path
