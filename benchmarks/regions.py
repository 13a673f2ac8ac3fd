"""Rasterising the regions of faces, against a forward pass of `cnn` over the same faces."""

import numpy as np
import torch

from benchmarks.harness import Row, compare
from fer_lightning.data.landmarks import ACCEPTED, Landmarks, shipped_landmarks
from fer_lightning.models import create_model

FACES = 256  # both sides grow with the number of faces
SIZE = (48, 48)


def measure() -> list[Row]:
    torch.set_num_threads(1)
    known = shipped_landmarks()
    some = np.flatnonzero(known.score > ACCEPTED)[:FACES]
    names = [(key.tobytes() + bytes(24)).hex() for key in known.keys[some]]
    kept = Landmarks(known.keys[some], known.points[some], known.score[some])
    net = create_model("cnn").eval()
    images = torch.rand(FACES, 1, *SIZE)

    def rasterise():
        return Landmarks(known.keys[some], known.points[some], known.score[some]).masks(names, SIZE)

    def forward():
        with torch.inference_mode():
            for batch in images.split(64):
                net(batch)

    first, again = rasterise()[0], kept.masks(names, SIZE)[0]
    np.testing.assert_array_equal(first, again)
    return [
        compare(f"regions of {FACES} faces, first time", rasterise, forward, target=1.0, repeats=3),
        compare(
            "regions that were rasterised before, against the first time",
            lambda: kept.masks(names, SIZE),
            rasterise,
            target=0.5,
            repeats=3,
        ),
    ]
