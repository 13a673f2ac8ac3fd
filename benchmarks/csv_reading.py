"""Reading a fer2013.csv of full size: first time and from the cache, against pandas and a loop."""

import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.harness import Row, compare
from fer_lightning.data.cache import load
from fer_lightning.data.faces import drawn_faces
from fer_lightning.data.image_set import Usage

ROWS = 35_887
NAMES = {Usage.TRAINING: "Training", Usage.PUBLIC_TEST: "PublicTest"}


def write_csv(path: Path) -> None:
    """Write drawn faces with noise, repeated to FER-2013's number of rows, about 300 MB."""
    faces = drawn_faces(2100, with_masks=False)
    rng = np.random.default_rng(0)
    with path.open("w") as file:
        file.write("emotion,pixels,Usage\n")
        for i in range(ROWS):
            image = faces.images[i % len(faces)].astype(np.int16) + rng.integers(-9, 10, (48, 48))
            pixels = " ".join(map(str, image.clip(0, 255).ravel().tolist()))
            usage = NAMES.get(Usage(faces.usage[i % len(faces)]), "PrivateTest")
            file.write(f"{faces.labels[i % len(faces)]},{pixels},{usage}\n")


def pandas_and_loop(path: Path) -> np.ndarray:
    """How most FER code reads it."""
    table = pd.read_csv(path)
    return np.stack([np.array(text.split(), dtype=np.uint8) for text in table["pixels"]])


def measure() -> list[Row]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "fer2013.csv")
        write_csv(path)
        size = path.stat().st_size / 1e6
        caches = iter(Path(folder, f"cache{i}") for i in range(100))

        def first():
            return load(path, cache_dir=next(caches)).images

        kept = Path(folder, "kept")
        np.testing.assert_array_equal(
            load(path, cache_dir=kept).images.reshape(ROWS, -1), pandas_and_loop(path)
        )
        return [
            compare(
                f"first read of a {size:.0f} MB CSV, cache written",
                first,
                lambda: pandas_and_loop(path),
                target=0.5,
                repeats=3,
            ),
            compare(
                "start from the cache, against our first read",
                lambda: load(path, cache_dir=kept),
                first,
                target=0.05,
                repeats=3,
            ),
        ]
