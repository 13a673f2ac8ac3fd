"""Tiny runs that are killed, moved and resumed; each takes about a second."""

import json
import os
import signal
import sys
from copy import copy
from functools import cache
from pathlib import Path

import lightning as L
import numpy as np
import pandas as pd
import torch

import fer_lightning as fl
from fer_lightning.errors import UserError

EPOCHS = 4
TIMES = ["train/epoch_seconds", "train/images_per_second"]


@cache
def faces():
    """Drawn once; a forked process has them, too."""
    data = fl.drawn_faces(105, image_size=32)
    _ = data.image_set
    return data


def train(folder, resume=False, quiet=True, mode=True, callbacks=(), report=False):
    """A tiny ViT that learns so slowly that its first epoch stays the best."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # a forked process cannot use its parent's
    data = copy(faces())
    L.seed_everything(1, verbose=False)
    model = fl.create_model("vit", patch_size=8, dim=8, depth=1, heads=2, dropout=0.1, **data.sizes)
    try:
        return fl.train(
            model.train(mode),
            data,
            max_epochs=EPOCHS,
            lr=1e-5,
            run_dir=folder,
            callbacks=callbacks,
            tensorboard=False,
            report=report,
            quiet=quiet,
            resume=resume,
            accelerator="cpu",
        )
    finally:
        torch.set_num_threads(threads)


def forked(call):
    """Call something in a child process and return its id; it ends with exit code 0, or 1."""
    child = os.fork()
    if not child:
        code = 1
        try:
            call()
            code = 0
        except SystemExit as stop:
            code = stop.code
        except UserError as error:
            print(error, file=sys.stderr, flush=True)
            code = 2
        finally:
            os._exit(code)
    return child


def exit_code(child):
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def killed(folder, trap, resume=False):
    """Train in a child process with a trap in it; return whether SIGKILL ended it."""

    def call():
        trap()
        train(folder, resume)

    code = exit_code(forked(call))
    assert code in (0, -signal.SIGKILL)
    return code != 0


def kill_at(names, number):
    """Put a trap into functions of `os`: the given call to them is this process's last."""

    def trap():
        calls = []

        def trapped(call):
            def wrapper(*args, **kwargs):
                calls.append(call)
                if len(calls) == number:
                    os.kill(os.getpid(), signal.SIGKILL)
                return call(*args, **kwargs)

            return wrapper

        for name in names:
            setattr(os, name, trapped(getattr(os, name)))

    return trap


def kill_after(epochs):
    """Put a trap behind the writing of last.ckpt: a kill after so many complete epochs."""

    def trap():
        save = L.Trainer.save_checkpoint

        def wrapper(self, filepath, *args):
            save(self, filepath, *args)
            if Path(filepath).name == "last.ckpt" and self.current_epoch + 1 == epochs:
                os.kill(os.getpid(), signal.SIGKILL)

        L.Trainer.save_checkpoint = wrapper

    return trap


def results(folder):
    metrics = pd.read_csv(folder / "metrics.csv").drop(columns=TIMES).to_csv()
    summary = json.loads((folder / "summary.json").read_text())
    best = torch.load(folder / "checkpoints" / "best.ckpt", weights_only=True)
    logits = np.load(folder / "predictions.npz")["logits"].tolist()
    return metrics, summary["best_epoch"], summary["val"], summary["test"], best["epoch"], logits
