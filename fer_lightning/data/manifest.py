"""The split of a run as a file that another run can use again."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from fer_lightning.data.image_set import ImageSet
from fer_lightning.data.splits import Split
from fer_lightning.errors import UserError

MAX_BYTES = 256 * 2**20
PARTS = ("train", "val", "test")


def to_manifest(split: Split, data: ImageSet) -> dict[str, object]:
    """Describe a split completely: its rows, where they come from, and images per class."""
    manifest: dict[str, object] = {"format": 1, "data": data.name, **asdict(split)}
    manifest["images_per_class"] = {
        part: dict(zip(data.classes, class_counts(data, rows).tolist(), strict=True))
        for part, rows in ((part, getattr(split, part)) for part in PARTS)
    }
    return manifest | {part: getattr(split, part).tolist() for part in (*PARTS, "leaking")}


def class_counts(data: ImageSet, rows: np.ndarray) -> np.ndarray:
    """Count the images of each class among the given rows."""
    return np.bincount(data.labels[rows], minlength=len(data.classes))


def read_manifest(path: Path, data: ImageSet) -> Split:
    """Read a split back for the same data set.

    Raises:
        UserError: no manifest, one of another data set, or rows that cannot be.
    """
    if not path.is_file():
        raise UserError(f"expected a split manifest but found no file {path}")
    if path.stat().st_size > MAX_BYTES:
        raise UserError(f"expected a split manifest below {MAX_BYTES >> 20} MiB but got {path}")
    try:
        content = json.loads(path.read_text())
        parts = {part: np.asarray(content[part], dtype=np.int64) for part in PARTS}
        leaking = np.intersect1d(parts["test"], np.asarray(content.get("leaking", []), np.int64))
        known: dict[str, Any] = {
            name: content[name] for name in ("fingerprint", "protocol", "duplicates", "seed")
        }
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError) as error:
        raise UserError(
            f"expected a split manifest (split.json) but could not read {path}: {error}"
        ) from error
    if known["fingerprint"] != data.fingerprint:
        raise UserError(
            f"expected a manifest of this data set ({data.name}, {data.fingerprint}) but {path} "
            f"belongs to {content.get('data')} ({known['fingerprint']})"
        )
    shared = known["protocol"] == "train_test" and np.array_equal(parts["val"], parts["test"])
    rows = np.concatenate([parts[part] for part in PARTS if not (shared and part == "val")])
    if rows.ndim != 1 or len(np.unique(rows)) != len(rows):
        raise UserError(f"expected each image in one part only but {path} repeats some")
    if len(rows) and not 0 <= rows.min() <= rows.max() < len(data):
        raise UserError(f"expected rows below {len(data)} but {path} names others")
    if any(len(part) == 0 for part in parts.values()):
        raise UserError(f"expected images in train, val and test but {path} leaves one empty")
    known |= {"counts": content.get("counts", {}), "notes": tuple(content.get("notes", ()))}
    known["leaking"] = leaking
    return Split(**(known | parts))
