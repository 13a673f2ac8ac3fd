"""Small data sets in every form, for the tests of the readers."""

import io
import tarfile
import zipfile
from pathlib import Path

import cv2
import numpy as np

CLASSES = ("angry", "disgust", "fear", "happy", "sad", "surprise", "neutral")
USAGES = ("Training", "PublicTest", "PrivateTest")


def faces(n: int, seed: int = 0) -> np.ndarray:
    """Return (n, 48, 48) uint8 noise."""
    return np.random.default_rng(seed).integers(0, 256, (n, 48, 48), dtype=np.uint8)


def row(image: np.ndarray, label: int, usage: str | None = None) -> str:
    pixels = " ".join(map(str, image.ravel().tolist()))
    return f"{label},{pixels}" + (f",{usage}" if usage is not None else "")


def csv_text(n: int, seed: int = 0) -> str:
    """Return fer2013.csv with n rows: labels 0..6 in turn, usages in turn."""
    images = faces(n, seed)
    rows = [row(images[i], i % 7, USAGES[i % 3]) for i in range(n)]
    return "\n".join(["emotion,pixels,Usage", *rows]) + "\n"


def encode(picture: np.ndarray, ending: str = ".png") -> bytes:
    return cv2.imencode(ending, picture)[1].tobytes()


def fer_members(prefix: str = "") -> dict[str, bytes]:
    """Return seven train and seven test pictures, one a class, with the official file names."""
    images = faces(14)
    members = {}
    for i, name in enumerate(CLASSES):
        test = "PublicTest" if i % 2 else "PrivateTest"
        members[f"{prefix}train/{name}/Training_{i}.png"] = encode(images[i])
        members[f"{prefix}test/{name}/{test}_{i}.png"] = encode(images[7 + i])
    return members


def write_folder(root: Path, members: dict[str, bytes]) -> Path:
    for name, data in members.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return root


def zip_bytes(members: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return buffer.getvalue()


def tar_bytes(members: dict[str, bytes], mode: str = "w") -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode=mode) as archive:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return buffer.getvalue()
