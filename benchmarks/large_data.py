"""Memory and time for many or large pictures, beside torchvision's ImageFolder with 2 workers.

    python -m benchmarks.large_data                  (5,000 colour JPEGs of 224x224; minutes)
    python -m benchmarks.large_data 200000 48 1      (number, side, channels)

Each side runs in a process of its own: the time from nothing to the first training batch of 64,
that of all batches (ours: the training part, 80 %), and the most memory of its own (anonymous; what
the system keeps of files can be given back) beyond what the imports take, as a share of the pixels.
"""

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from threading import Event, Thread

import cv2
import numpy as np

BATCH = 64
SIDES = ("first read", "read again", "ImageFolder, 2 workers")


def anonymous() -> int:
    """Bytes of this process and its children that lie in no file."""
    own = Path("/proc/self/task").resolve().parent
    pids = [own.name, *(own / "task" / own.name / "children").read_text().split()]
    lines = [line for pid in pids for line in _status(pid)]
    return 1024 * sum(int(line.split()[1]) for line in lines if line.startswith("RssAnon"))


def _status(pid: str) -> list[str]:
    try:
        return Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:  # it has ended
        return []


def ours(folder: str, size: int) -> Iterator[object]:
    from fer_lightning.data.datamodule import FERDataModule, Files

    yield
    data = FERDataModule(folder, duplicates="keep", batch_size=BATCH, files=Files(image_size=size))
    data.setup("fit")
    yield from data.train_dataloader()


def image_folder(folder: str, size: int) -> Iterator[object]:
    from torch.utils.data import DataLoader
    from torchvision import transforms
    from torchvision.datasets import ImageFolder

    yield
    to_tensor = transforms.Compose([transforms.Resize((size, size)), transforms.PILToTensor()])
    data = ImageFolder(folder, to_tensor)
    yield from DataLoader(data, BATCH, shuffle=True, num_workers=2)


def watch(name: str, folder: str, size: int) -> None:
    """Print seconds to the first batch and of all, and the peak of memory."""
    steps = iter((image_folder if name == SIDES[-1] else ours)(folder, size))
    next(steps)
    before, peak, ended = anonymous(), [0], Event()

    def look() -> None:
        while not ended.wait(0.02):
            peak[0] = max(peak[0], anonymous())

    watcher = Thread(target=look, daemon=True)
    watcher.start()
    began = time.perf_counter()
    next(steps)
    first = time.perf_counter() - began
    for _ in steps:
        pass
    ended.set()
    print(first, time.perf_counter() - began, peak[0] - before)


def main(number: int = 5000, size: int = 224, channels: int = 3) -> None:
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        for i in range(number):
            here = Path(folder, "pictures", f"class{i % 7}")
            here.mkdir(parents=True, exist_ok=True)
            small = rng.integers(0, 255, (12, 12, channels), np.uint8)
            picture = cv2.resize(small, (size, size), interpolation=cv2.INTER_CUBIC)
            cv2.imwrite(str(here / f"{i}.jpg"), picture)
        pixels = number * channels * size * size
        print(f"{number:,} pictures, {pixels / 1e6:,.0f} MB of pixels\n")
        print("| | first batch | all batches | memory of its own | of the pixels |")
        print("|---|---|---|---|---|")
        for name in SIDES:
            command = [sys.executable, "-m", "benchmarks.large_data", "watch", name]
            command += [f"{folder}/pictures", str(size)]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            first, whole, peak = map(float, done.stdout.split()[-3:])
            print(
                f"| {name} | {first:.1f} s | {whole:.1f} s | {peak / 1e6:,.0f} MB "
                f"| {peak / pixels:.2f} |",
                flush=True,
            )


if __name__ == "__main__":
    if sys.argv[1:2] == ["watch"]:
        watch(*sys.argv[2:4], int(sys.argv[4]))
    else:
        main(*map(int, sys.argv[1:]))
