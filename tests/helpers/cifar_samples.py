"""Tiny archives in the form of ``cifar-10-python.tar.gz``, also as Python 2 has written it."""

import pickle
import struct

import numpy as np

NAMES = (
    *("airplane", "automobile", "bird", "cat", "deer"),
    *("dog", "frog", "horse", "ship", "truck"),
)
FOLDER = "cifar-10-batches-py"


def short(text: bytes) -> bytes:
    """A Python 2 string of fewer than 256 bytes."""
    return b"U" + bytes([len(text)]) + text


def python2_array(rows: np.ndarray, dtype: bytes = b"u1") -> bytes:
    """What Python 2's cPickle writes for an array, protocol 2."""
    n, width = rows.shape
    data = rows.tobytes()
    return (
        b"cnumpy.core.multiarray\n_reconstruct\nq\x10cnumpy\nndarray\nq\x11K\x00\x85"
        + short(b"b")
        + b"\x87Rq\x12(K\x01"
        + b"M" + struct.pack("<H", n) + b"M" + struct.pack("<H", width) + b"\x86"
        + b"cnumpy\ndtype\nq\x13" + short(dtype) + b"K\x00K\x01\x87Rq\x14"
        + b"(K\x03" + short(b"|") + b"NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb\x89"
        + b"T" + struct.pack("<I", len(data)) + data + b"tb"
    )  # fmt: skip


def python2_dict(**values: bytes) -> bytes:
    """A pickled dict of byte-string keys and values that are pickled already."""
    items = b"".join(short(key.encode()) + value for key, value in values.items())
    return b"\x80\x02}q\x01(" + items + b"u."


def python2_list(items: list[bytes]) -> bytes:
    return b"](" + b"".join(items) + b"e"


def pixels(n: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (n, 3072), dtype=np.uint8)


def batch(n: int = 10, seed: int = 0, protocol: int | None = None) -> bytes:
    """n images with the labels 0..9 in turn; written by Python 2, or in a protocol of Python 3."""
    rows, labels = pixels(n, seed), [i % 10 for i in range(n)]
    if protocol is not None:
        content = {b"data": rows, b"labels": labels, b"filenames": [b"a.png"] * n}
        return pickle.dumps(content, protocol=protocol)
    return python2_dict(
        batch_label=short(b"training batch 1 of 5"),
        labels=python2_list([b"K" + bytes([label]) for label in labels]),
        data=python2_array(rows),
        filenames=python2_list([short(b"a.png")] * n),
    )


def meta() -> bytes:
    names = python2_list([short(name.encode()) for name in NAMES])
    return python2_dict(num_cases_per_batch=b"M\x10'", label_names=names, num_vis=b"M\x00\x0c")


def cifar_members(n: int = 10, protocol: int | None = None) -> dict[str, bytes]:
    """All files of the archive with n images in each batch."""
    batches = [*(f"data_batch_{i}" for i in range(1, 6)), "test_batch"]
    members = {
        f"{FOLDER}/{name}": batch(n, seed, protocol) for seed, name in enumerate(batches, start=1)
    }
    return {f"{FOLDER}/batches.meta": meta(), f"{FOLDER}/readme.html": b"<html>", **members}
