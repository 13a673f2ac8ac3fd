"""Whatever a file of a user's holds: one sentence, never a traceback, never much memory."""

import csv
import io
import json
import resource

import numpy as np
import pytest
import torch
from fake_runs import fake_run
from reader_samples import csv_text, encode, faces, fer_members, tar_bytes, zip_bytes
from safetensors.torch import save_file

from fer_lightning.data.image_set import ImageSet
from fer_lightning.data.landmarks import read_landmarks, write_landmarks
from fer_lightning.data.readers import read
from fer_lightning.data.readers.masks import read_scheme, with_label_maps
from fer_lightning.data.readers.pictures import BadPictureError, decode
from fer_lightning.data.splits import read_manifest
from fer_lightning.errors import UserError
from fer_lightning.models import ViT, describe, read_weights
from fer_lightning.runs.collection import collect
from fer_lightning.runs.files import FILES, read_csv, read_metrics
from fer_lightning.runs.find import find_folders
from fer_lightning.runs.hashes import check_run, finish
from fer_lightning.schema import read_mapping
from fer_lightning.training.checkpoint import load_net

MOST_MEMORY = 1 << 30  # bytes more than before, whatever the file says
LARGE = [b"\xff" * 4, b"\xff\xff\xff\x7f", b"\0\0\0\x40", bytes(8), b"99999999999", b"[" * 50]


def mutated(data, rng):
    """Change, put in, take out, repeat or cut off some bytes, mostly near the ends."""
    data = bytearray(data)
    for _ in range(rng.integers(1, 5)):
        end = len(data)
        near = [rng.integers(0, min(end, 400) + 1), rng.integers(max(0, end - 400), end + 1)]
        place = int(rng.choice([*near, rng.integers(0, end + 1)]))
        kind = rng.integers(6)
        if kind == 0:
            data[place : place + 1] = rng.bytes(1)
        elif kind == 1:
            new = LARGE[rng.integers(len(LARGE))]
            data[place : place + len(new)] = new
        elif kind == 2:
            data[place:place] = rng.bytes(int(rng.integers(1, 9)))
        elif kind == 3:
            del data[place : place + int(rng.integers(1, 30))]
        elif kind == 4:
            data[place:place] = data[place : place + 64]
        elif place > 0:
            del data[place:]
    return bytes(data)


def landmarks_npz():
    file = io.BytesIO()
    keys = np.arange(64, dtype=np.uint8).reshape(2, 32)
    write_landmarks(file, keys, np.ones((2, 68, 2), np.float32), np.ones(2, np.float32), (48, 48))
    return file.getvalue()


def landmarks_csv():
    file = io.StringIO()
    rows = csv.writer(file)
    rows.writerow(["sha256", *(f"{axis}{k}" for k in range(68) for axis in "xy")])
    rows.writerow(["a" * 64, *([1.5] * 136)])
    return file.getvalue().encode()


def checkpoint(folder):
    net = ViT(patch_size=8, dim=8, depth=1, heads=2)
    state = {f"net.{name}": value for name, value in net.state_dict().items()}
    about = {"net": describe(net), "classes": ["a"] * 7}
    torch.save({"fer_lightning": about, "state_dict": state}, folder / "net.ckpt")
    torch.save(net.state_dict(), folder / "net.pt")
    torch.save(net.state_dict(), folder / "old.pt", _use_new_zipfile_serialization=False)
    save_file(net.state_dict(), folder / "net.safetensors")


def pictures(folder):
    """Three pictures, for label maps and splits."""
    images = faces(3)[:, None]
    files = np.array(["a.png", "b.png", "c.png"])
    labels = np.arange(3)
    return ImageSet("three", images, labels, np.zeros(3, np.int8), ("x", "y", "z"), files)


@pytest.fixture(scope="module")
def kinds(tmp_path_factory):
    """Kind of file → where it lies, what is in it, and what reads it."""
    root = tmp_path_factory.mktemp("files")
    data = pictures(root)
    run = fake_run(root / "run")
    np.savez(run / "maps.npz", row=np.arange(2), heat=np.ones((2, 4, 4)))
    features = {"row": np.arange(2), "label": np.arange(2), "points": np.ones((2, 2))}
    np.savez_compressed(run / "features.npz", **features, features=np.ones((2, 3)))
    finish(run, json.loads((run / "summary.json").read_text()))
    (root / "study").mkdir()
    cell = {"identity": "i", "name": "n", "model": "m", "folder": "f"}
    (root / "study" / "study.json").write_text(json.dumps({"cells": [cell], "models": ["m"]}))
    (root / "maps").mkdir()
    for name in data.files:
        (root / "maps" / str(name)).write_bytes(encode(np.eye(48, dtype=np.uint8)))
    (root / "scheme.yaml").write_text("regions: {1: plate, 2: defect}\nprimary: defect\n")
    (root / "one.yaml").write_text("regions: {1: plate}\n")
    parts = {"train": [0], "val": [1], "test": [2], "leaking": [], "near_twins": None}
    split = {"fingerprint": data.fingerprint, "protocol": "ratio", "duplicates": "keep", "seed": 0}
    (root / "split.json").write_text(json.dumps(parts | split))
    checkpoint(root)
    some = ("sad", "fear")
    members = {k: v for k, v in fer_members().items() if any(name in k for name in some)}
    files = {
        "data.csv": csv_text(3).encode(),
        "data.zip": zip_bytes(members),
        "data.tar.gz": tar_bytes({"fer2013.csv": csv_text(2).encode()}, "w:gz"),
        "landmarks.npz": landmarks_npz(),
        "landmarks.csv": landmarks_csv(),
        "landmarks.json": json.dumps({"a" * 64: {"points": [[1, 2]] * 68}}).encode(),
        **{f"face{ending}": encode(faces(1)[0], ending) for ending in PICTURES},
    }
    for name, content in files.items():
        (root / name).write_bytes(content)
    readers = {
        **{root / name: read for name in ("data.csv", "data.zip", "data.tar.gz")},
        **{root / f"landmarks.{kind}": read_landmarks for kind in ("npz", "csv", "json")},
        **{root / f"face{ending}": lambda path: decode(path.read_bytes()) for ending in PICTURES},
        root / "net.ckpt": load_net,
        **{root / name: read_weights for name in ("net.pt", "old.pt", "net.safetensors")},
        root / "scheme.yaml": read_scheme,
        run / "config.yaml": read_mapping,
        root / "maps" / "b.png": lambda _: with_label_maps(data, root / "maps", root / "one.yaml"),
        root / "split.json": lambda path: read_manifest(path, data),
        root / "study" / "study.json": lambda path: find_folders([path.parent]),
        **{run / name: lambda path: collect([path.parent]).table for name in IN_RUN},
        run / "metrics.csv": read_metrics,
        run / "focus_samples.csv": read_csv,
        run / "hashes.json": lambda path: check_run(path.parent),
        run / "maps.npz": FILES["maps"].reader,
        run / "features.npz": FILES["features"].reader,
    }
    return {path: (path.read_bytes(), reader) for path, reader in readers.items()}


PICTURES = (".jpg", ".png", ".bmp", ".pgm", ".tiff")
IN_RUN = ("summary.json", "predictions.npz")


def fuzz(kinds, total, seed=0):
    """Read mutated files of every kind in turn; return how often each was read or refused."""
    rng = np.random.default_rng(seed)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    counts = {path.name: [0, 0] for path in kinds}
    for number in range(total):
        path, (good, reader) = list(kinds.items())[number % len(kinds)]
        path.write_bytes(mutated(good, rng))
        try:
            reader(path)
            counts[path.name][0] += 1
        except (UserError, BadPictureError):
            counts[path.name][1] += 1
        except Exception as error:
            kept = path.with_name(f"failed-{number}-{path.name}")
            kept.write_bytes(path.read_bytes())
            raise AssertionError(f"{type(error).__name__}: {error} (kept as {kept})") from error
        finally:
            path.write_bytes(good)
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert (after - before) * 1024 < MOST_MEMORY
    return counts


def test_good_files_are_read(kinds):
    for path, (_, reader) in kinds.items():
        reader(path)


@pytest.mark.filterwarnings("ignore")
def test_some_mutated_files(kinds):
    counts = fuzz(kinds, 100)
    assert sum(refused for _, refused in counts.values()) > 20


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_many_mutated_files(kinds):
    counts = fuzz(kinds, 20_000, seed=1)
    left_out = {"summary.json", "predictions.npz", "metrics.csv"}  # and named, not refused
    assert all(refused or name in left_out for name, (_, refused) in counts.items()), counts
