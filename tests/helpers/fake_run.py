"""Run folders as `fit` leaves them, without a training."""

import json

import numpy as np
from PIL import Image

CONFIG = """seed_everything: {seed}
model:
  net: {{class_path: fer_lightning.models.ViT, init_args: {{depth: 4}}}}
  lr: {lr}
"""


def metrics(epochs, start=0.0):
    rows = (f"{epoch},{start + epoch / 10:.6g},{2 - epoch / 10:.6g}" for epoch in range(epochs))
    return "\n".join(["epoch,val/acc,val/loss", *rows, ""])


def write_run(folder, epochs=3, seed=1, lr=0.001, summary=True, pictures=False):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.yaml").write_text(CONFIG.format(seed=seed, lr=lr))
    (folder / "metrics.csv").write_text(metrics(epochs))
    if pictures:
        for name in ("gradcam/epoch_000", "gradcam/epoch_001", "gradcam/test", "weighting/epoch_1"):
            path = folder / f"{name}.png"
            path.parent.mkdir(exist_ok=True)
            Image.new("RGB", (60, 40), "red").save(path)
        rng = np.random.default_rng(0)
        np.savez(
            folder / "features.npz",
            row=np.arange(6),
            points=rng.random((6, 2), np.float32),
            features=rng.random((6, 4), np.float32),
            faces=rng.integers(0, 255, (6, 1, 48, 48), np.uint8),
            label=np.arange(6) % 2,
        )
    if summary:
        finish_run(folder, epochs)
    return folder


def finish_run(folder, epochs):
    test = {"acc": 0.5, "nll": 1.5, "recall": {"happy": 0.25, "sad": None}, "confusion": [[1]]}
    best = {"acc": (epochs - 1) / 10, "epoch": epochs - 1}
    classes = ["happy", "sad"]
    content = {"val": best, "test": test, "classes": classes, "completed": True}
    (folder / "summary.json").write_text(json.dumps(content))
