"""How long a study will take: a few real training steps of each model, scaled up."""

import time
from collections.abc import Mapping
from typing import Any

import torch
import torch.nn.functional as F

from fer_lightning.data.augment import Augmentation, augment, to_float
from fer_lightning.data.datamodule import FERDataModule
from fer_lightning.errors import UserError
from fer_lightning.lit.optimizers import make_optimizer
from fer_lightning.models import MODELS, build
from fer_lightning.study.identity import short_path

STEPS = 3  # measured, after one that warms up
FORWARD_SHARE = 1 / 3  # of a training step's time that a forward pass takes
LINKED = ("num_classes", "in_chans", "image_size")


def seconds_per_image(config: Mapping[str, Any], data: FERDataModule) -> float:
    """Time a few training steps at the configured batch size, in seconds per image.

    Args:
        config: whole configuration of a run.
        data: its data.

    Raises:
        UserError: the model is none of ours, so that nothing is known of how to make it.
    """
    net = config["model"]["net"]
    name = short_path(net["class_path"]).rsplit(".", 1)[-1]
    names = {model.__name__: known for known, model in MODELS.items()}
    if name not in names:
        raise UserError(f"expected a registered model but got {net['class_path']}")
    linked = {option: getattr(data, option) for option in LINKED}
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = build(names[name], **{**net.get("init_args", {}), **linked}).to(device).train()
    options = config["model"]
    optimizer = make_optimizer(model, options["optimizer"], options["lr"], options["weight_decay"])
    size = min(config["data"]["batch_size"], len(data.split.train))
    rows = data.split.train[:size]
    images = torch.from_numpy(data.image_set.images[rows]).to(device)
    labels = torch.from_numpy(data.image_set.labels[rows]).to(device)
    began = 0.0
    for step in range(STEPS + 1):
        if step == 1:
            _synchronise()
            began = time.perf_counter()
        batch = augment(to_float(images), Augmentation(**config["data"]["augmentation"]))
        optimizer.zero_grad()
        F.cross_entropy(model(batch), labels).backward()
        optimizer.step()
    _synchronise()
    return (time.perf_counter() - began) / STEPS / size


def estimate(config: Mapping[str, Any], images: Mapping[str, int], per_image: float) -> float:
    """Seconds of a whole run, at most: it may stop early.

    Args:
        config: whole configuration.
        images: number of ``train`` and ``val`` images in the run.
        per_image: of a training step.

    >>> round(estimate({"trainer": {"max_epochs": 2}}, {"train": 80, "val": 30}, 0.1), 1)
    18.0
    """
    epoch = images["train"] + FORWARD_SHARE * images["val"]
    return per_image * epoch * config["trainer"]["max_epochs"]


def _synchronise() -> None:
    if torch.cuda.is_available():
        torch.cuda.synchronize()
