"""Pictures, a checkpoint and readers of results, for the tests of the command explain."""

import csv
from pathlib import Path
from types import SimpleNamespace

import cv2
import numpy as np
import torch

from fer_lightning.data.faces import drawn_faces
from fer_lightning.data.labels import FER_CLASSES
from fer_lightning.models import ViT
from fer_lightning.training.checkpoint import describe_run

FACES = drawn_faces(7, with_masks=False).images[:, 0]  # (7, 48, 48)
ALWAYS = ["explain.csv", "maps.npz", "notes.json"]


def tiny_vit():
    torch.manual_seed(4)  # two classes are predicted and no map of the faces is zero
    return ViT(dim=16, depth=1, heads=2).eval()


def save_net(net, path="net.ckpt", classes=FER_CLASSES):
    data = SimpleNamespace(
        classes=classes, image_set=SimpleNamespace(name="drawn faces", fingerprint="f00d")
    )
    checkpoint = {"state_dict": {f"net.{k}": v for k, v in net.state_dict().items()}}
    describe_run(checkpoint, net, data)
    torch.save(checkpoint, path)


def write(path, picture):
    """Write a grey or RGB(A) picture."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    order = {2: None, 3: cv2.COLOR_RGB2BGR, 4: cv2.COLOR_RGBA2BGRA}
    channels = 2 if picture.ndim == 2 else picture.shape[2]
    if order[channels] is not None:
        picture = cv2.cvtColor(picture, order[channels])
    path.write_bytes(cv2.imencode(path.suffix, picture)[1].tobytes())


def rows(out="out"):
    return list(csv.DictReader(Path(out, "explain.csv").read_text(encoding="utf-8").splitlines()))


def logits(out="out"):
    with np.load(Path(out, "maps.npz")) as found:  # NumPy refuses pickles by default
        return found["logits"]


def listing(folder):
    return sorted(path.name for path in Path(folder).iterdir())


def explainer(run, net):
    """Return a function that explains what lies in ``faces`` by a model saved in ``net.ckpt``."""
    save_net(net)

    def call(*options, images="faces", out="out"):
        where = ("--checkpoint=net.ckpt", f"--images={images}", f"--out={out}")
        return run("explain", *where, *options)

    return call
