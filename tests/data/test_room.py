"""Data sets that are large for the memory: nothing is held twice, files hold what memory cannot."""

import errno
import os
import subprocess
import sys

import cv2
import numpy as np
import pytest

from fer_lightning.data import cache
from fer_lightning.data.readers import room
from fer_lightning.errors import UserError

SIDE, CLASSES, EACH = 512, 2, 64  # 128 colour pictures: 101 MB of pixels
PIXELS = CLASSES * EACH * 3 * SIDE * SIDE
READ_AND_TRAIN = """
import resource, sys
from fer_lightning.data.datamodule import FERDataModule
data = FERDataModule(sys.argv[1], duplicates="keep", batch_size=4, eval_batch_size=4)
now = next(int(l.split()[1]) * 1024 for l in open("/proc/self/status") if l.startswith("VmData"))
resource.setrlimit(resource.RLIMIT_DATA, (now + int(sys.argv[2]),) * 2)  # what may be new
total = data.image_set.images.nbytes
data.setup("fit")
loaders = data.train_dataloader(), data.val_dataloader()
sums = [int(b.image.numpy().sum(dtype="u8")) for loader in loaders for b in loader]
print(total, sum(sums))
"""


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    """Noise in two classes; the first is grey, so that colours are met late."""
    folder = tmp_path_factory.mktemp("large") / "pictures"
    rng = np.random.default_rng(0)
    for number in range(CLASSES * EACH):
        here = folder / "ab"[number % CLASSES]
        here.mkdir(parents=True, exist_ok=True)
        pixels = np.full((SIDE, SIDE, 3), number, np.uint8)
        if number:
            pixels[:8, :8] = rng.integers(0, 255, (8, 8, 3))
        cv2.imwrite(str(here / f"{number}.png"), pixels)
    return folder


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="asks /proc")
def test_reading_and_training_take_less_memory_than_the_pictures(pictures):
    """Half of the pixels' size is enough, where two copies of them would need twice of it."""
    done = []
    for _ in ("read", "opened again"):
        command = [sys.executable, "-c", READ_AND_TRAIN, str(pictures), str(PIXELS // 2)]
        found = subprocess.run(command, capture_output=True, text=True, check=False)
        assert found.returncode == 0, found.stderr
        done.append(found.stdout)
    assert done[0] == done[1]
    assert int(done[0].split()[0]) == PIXELS


def test_pictures_in_a_file_are_those_in_memory(pictures, tmp_path, monkeypatch):
    in_file = cache.load(pictures, tmp_path / "one")
    monkeypatch.setattr(room, "LARGE", 2**60)
    in_memory = cache.load(pictures, tmp_path / "two")
    assert in_file.fingerprint == in_memory.fingerprint
    assert in_file.images.shape == (CLASSES * EACH, 3, SIDE, SIDE)
    left = [path.name for path in (tmp_path / "one").iterdir() if path.name.startswith(".unf")]
    assert not left


def test_damaged_pictures_leave_no_gap(pictures, tmp_path, monkeypatch):
    copy = tmp_path / "some"
    for name in ("a/0.png", "a/2.png", "a/4.png", "b/1.png"):
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        (copy / name).write_bytes((pictures / name).read_bytes())
    (copy / "a/2.png").write_bytes(b"no picture")
    monkeypatch.setattr(room, "LARGE", 1)
    found = cache.load(copy, tmp_path / "cache", on_corrupt="skip")
    assert found.files.tolist() == ["a/0.png", "a/4.png", "b/1.png"]
    assert found.images[:, 0, -1, -1].tolist() == [0, 4, 1]


def test_a_full_disk(pictures, tmp_path, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(UserError, match=r"expected room for 0\.1 GiB .*No space left"):
        cache.load(pictures, tmp_path)
    assert not list(tmp_path.rglob("*.npy"))
