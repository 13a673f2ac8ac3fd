"""Run folders with known numbers, written as a fit writes them but without any training."""

import json

import numpy as np

CLASSES = ["angry", "disgust", "fear", "happy", "sad", "surprise", "neutral"]


def logits_of(correct, labels):
    """(N, 7) logits whose largest is the label where `correct`, the next class elsewhere."""
    answer = np.where(correct, labels, (labels + 1) % 7)
    return np.eye(7, dtype=np.float32)[answer]


def fake_run(root, model="cnn", fraction=0.3, seed=42, **other):
    """Write a run of 10 test images of which 10 * acc are recognised; return its folder.

    Options: acc, fingerprint, identity (written to cell.json), name, started.
    """
    acc = other.get("acc", 0.5)
    folder = root / other.get("name", f"{model}-{100 * fraction:g}pct-seed{seed}")
    folder.mkdir(parents=True)
    labels = np.arange(10) % 7
    correct = np.arange(10) < round(10 * acc)
    np.savez_compressed(
        folder / "predictions.npz",
        row=np.arange(10) * 3,
        label=labels,
        logits=logits_of(correct, labels),
    )
    measured = {"acc": acc, "macro_f1": acc, "nll": 1.0, "ece": 0.1, "ece_floor": 0.02}
    summary = {
        "run": folder.name,
        "started": other.get("started", f"2026-01-01T00:00:{seed}+00:00"),
        "command": "fer-lightning fit --config /home/me/cnn.yaml --data.data_dir=/home/me/fer.zip",
        "seed": seed,
        "data": "FER-2013",
        "fingerprint": other.get("fingerprint", "f" * 16),
        "model": model,
        "parameters": 1000,
        "multiply_adds": 2000,
        "fraction": fraction,
        "images": {"train": 80, "val": 10, "test": 10},
        "classes": CLASSES,
        "hardware": "CPU x86_64, 1 threads",
        "processes": 1,
        "versions": {"torch": "2.15.0"},
        "epochs": 3,
        "best_epoch": 1,
        "seconds": 12.5,
        "val": measured | {"epoch": 1},
        "test": measured,
        "completed": True,
    }
    (folder / "summary.json").write_text(json.dumps(summary))
    (folder / "run.json").write_text(json.dumps({k: summary[k] for k in ("run", "command")}))
    (folder / "config.yaml").write_text("data:\n  data_dir: /home/me/fer.zip\n")
    (folder / "metrics.csv").write_text("epoch,val/acc\n0,0.1\n1,0.5\n2,0.4\n")
    (folder / "focus_samples.csv").write_text(
        "row,file,lfr_key,lsi,background\n3,a.jpg,1.5,0.1,0.2\n6,b.jpg,,,\n"
    )
    (folder / "focus.csv").write_text(
        "source,seed,region,lfr_mean\nmodel,,key,1.5\nuntrained,0,key,1"
    )
    if "identity" in other:
        cell = {"model": model, "fraction": fraction, "seed": seed, "identity": other["identity"]}
        (folder / "cell.json").write_text(json.dumps(cell))
    return folder


def fake_study(root, folders):
    """Write the study.json of cells given as name -> (identity, folder)."""
    cells = [
        {"name": name, "identity": identity, "folder": folder, "model": name.split("-")[0]}
        for name, (identity, folder) in folders.items()
    ]
    models = list(dict.fromkeys(cell["model"] for cell in cells))
    (root / "study.json").write_text(json.dumps({"name": "s", "models": models, "cells": cells}))
