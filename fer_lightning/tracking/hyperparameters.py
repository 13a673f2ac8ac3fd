"""The options of a run that decide what comes out, flat: what runs of a sweep are compared by."""

from collections.abc import Iterator, Mapping
from typing import Any

SECTIONS = ("model", "data", "early_stopping")
TRAINER = ("max_epochs", "precision", "gradient_clip_val", "accumulate_grad_batches")
NOT_COMPARED = frozenset(["data_dir", "cache_dir", "num_workers", "eval_batch_size"]) | frozenset(
    ["predict_part", "files", "compile"]
)
Value = bool | int | float | str


def hyperparameters(config: Mapping[str, Any]) -> dict[str, Value]:
    """Flatten a run's configuration under the names that its options have.

    >>> net = {"class_path": "fer_lightning.models.ViT", "init_args": {"depth": 4, "keep": None}}
    >>> hyperparameters({"seed_everything": 1, "model": {"net": net}, "runs_dir": "runs"})
    {'seed_everything': 1, 'model.net': 'ViT', 'model.net.depth': 4}
    """
    trainer = config.get("trainer") or {}
    chosen = {
        "seed_everything": config.get("seed_everything"),
        **{name: config.get(name) or {} for name in SECTIONS},
        "trainer": {name: trainer.get(name) for name in TRAINER if name in trainer},
    }
    return dict(_flat(chosen, ""))


def _flat(value: Any, name: str) -> Iterator[tuple[str, Value]]:
    """Yield what can be compared: numbers, words and yes or no."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if key == "class_path":
                yield name, str(inner).rsplit(".", 1)[-1]
            elif key not in NOT_COMPARED:
                here = name if key == "init_args" else f"{name}.{key}".lstrip(".")
                yield from _flat(inner, here)
    elif isinstance(value, bool | int | float | str):
        yield name, value
    elif isinstance(value, list | tuple) and value:
        yield name, ", ".join(map(str, value))
