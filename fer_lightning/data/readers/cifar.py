"""CIFAR-10 as it is published: ``cifar-10-python.tar.gz``, or the folder that it unpacks to.

Its files are pickles of a uint8 array (N, 3072), red, green and blue planes in a row, and a list
of labels; see https://www.cs.toronto.edu/~kriz/cifar.html. They are read without executing them.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fer_lightning.data.image_set import ImageSet, Usage
from fer_lightning.data.readers import limits
from fer_lightning.data.readers.pictures import conform
from fer_lightning.data.readers.plain_pickle import RefusedError, plain_values
from fer_lightning.data.readers.trees import Tree
from fer_lightning.errors import UserError

SHAPE = (3, 32, 32)
PIXELS = 3 * 32 * 32
META = "batches.meta"
WHOLE = {Usage.TRAINING: 50_000, Usage.PRIVATE_TEST: 10_000}  # images of the original
_BATCH = re.compile(r"(?:data_batch_[1-5]|test_batch)\Z")


def find_batches(names: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Find CIFAR-10's files among the paths of a tree: for each folder its batches, sorted."""
    found: dict[str, tuple[str, ...]] = {}
    for name in sorted(names):
        folder, _, file = name.rpartition("/")
        if _BATCH.match(file):
            found[folder] = (*found.get(folder, ()), name)
    return found


def read_batches(
    tree: Tree, names: Sequence[str], *, image_size: int | None, colour: bool | None
) -> ImageSet:
    """Read batches and the class names that lie beside them."""
    folder = names[0].rpartition("/")[0]
    meta = f"{folder}/{META}" if folder else META
    if meta not in tree.members:
        raise UserError(
            f"expected {META} beside the batches, but there is none in {tree.path / folder}; "
            "download CIFAR-10 again"
        )
    contents = {
        name: _content(data, f"{tree.path / name}") for name, data in tree.read([meta, *names])
    }
    classes = _classes(contents[meta], f"{tree.path / meta}")
    batches = [_batch(contents[name], f"{tree.path / name}", len(classes)) for name in names]
    usage = [Usage.PRIVATE_TEST if n.endswith("test_batch") else Usage.TRAINING for n in names]
    usages = np.repeat(np.array(usage, np.int8), [len(labels) for _, labels in batches])
    images = np.concatenate([pixels for pixels, _ in batches])
    files = [
        f"{name} row {row}"
        for name, (pixels, _) in zip(names, batches, strict=True)
        for row in range(1, len(pixels) + 1)
    ]
    is_whole = all((usages == usage).sum() == count for usage, count in WHOLE.items())
    return ImageSet(
        name="CIFAR-10" if is_whole else f"CIFAR-10 (partial, {len(usages):,} images)",
        images=conform(images, image_size, colour),
        labels=np.concatenate([labels for _, labels in batches]),
        usage=usages,
        classes=classes,
        files=np.array(files),
    )


def _content(data: bytes, where: str) -> dict[Any, Any]:
    if len(data) > limits.MAX_IMAGE_FILE:
        most = limits.MAX_IMAGE_FILE // limits.MIB
        raise UserError(f"expected a batch of at most {most} MiB, but {where} is larger")
    try:
        content = plain_values(data)
    except RefusedError as reason:
        raise UserError(
            f"expected a pickle of arrays and plain values as in CIFAR-10, but {where} {reason}; "
            "nothing in it was executed: do not use this file"
        ) from reason
    if not isinstance(content, dict):
        raise UserError(f"expected a dict as in CIFAR-10, but {where} holds something else")
    return {
        key.decode("latin-1") if isinstance(key, bytes) else key: content[key] for key in content
    }


def _classes(content: dict[Any, Any], where: str) -> tuple[str, ...]:
    names = content.get("label_names")
    if isinstance(names, list) and all(isinstance(name, bytes | str) for name in names):
        classes = tuple(n.decode("latin-1") if isinstance(n, bytes) else n for n in names)
        if 2 <= len(set(classes)) == len(classes):
            return classes
    raise UserError(
        f"expected label_names, two or more different ones, in {where}, but there are none; "
        "download CIFAR-10 again"
    )


def _batch(
    content: dict[Any, Any], where: str, classes: int
) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return images, (N, 3, 32, 32), and labels, (N,)."""
    pixels, labels = content.get("data"), content.get("labels")
    if not isinstance(pixels, np.ndarray) or pixels.shape[1:] != (PIXELS,) or len(pixels) == 0:
        raise UserError(f"expected data of N rows of {PIXELS} bytes in {where}, but got others")
    if not isinstance(labels, list) or len(labels) != len(pixels):
        raise UserError(f"expected {len(pixels)} labels, one a row of data, in {where}")
    if not all(type(label) is int and 0 <= label < classes for label in labels):
        raise UserError(f"expected labels from 0 to {classes - 1} in {where}, but got others")
    return pixels.reshape(-1, *SHAPE), np.array(labels, np.int64)
