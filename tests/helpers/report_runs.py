"""Whole run folders with known numbers, as a fit with all its callbacks leaves them."""

import json

import numpy as np
import pandas as pd

CLASSES = ("angry", "disgust", "fear", "happy", "sad", "surprise", "neutral")
REGIONS = ("eyes", "mouth", "eyebrow", "nose", "key", "all")
LOOKING = ("features.npz", "maps.npz", "focus.csv", "focus_samples.csv", "occlusion.csv")
LOOKING += ("focus_epochs.csv",)
LEADS = {"cnn": 0.2, "vit": 0.05, "swin": 0.1}  # accuracy above that of guessing, at 100 %


def write_run(root, model="cnn", fraction=1.0, seed=1, images=140, probe=42, **other):
    """Write a run whose accuracy grows with the model's lead and the fraction; return its folder.

    Options: data, substitutions, twins (test images with a twin in train), epochs, leave_out
    (names of files), zero (share of zero maps of a ViT), side (pixels of faces and maps), looked
    (images with a map, all of the probe without it).
    """
    rng = np.random.default_rng([seed, int(100 * fraction), sum(map(ord, model))])
    folder = root / f"{model}-{100 * fraction:g}pct-seed{seed}"
    folder.mkdir(parents=True)
    rows = np.arange(images) * 3
    labels = np.arange(images) % 7
    share = 1 / 7 + LEADS.get(model, 0.1) * (0.5 + fraction / 2) * 3
    right = rng.random(images) < share
    answer = np.where(right, labels, (labels + 1) % 7)
    logits = (2.5 * np.eye(7)[answer] + rng.normal(0, 0.3, (images, 7))).astype(np.float32)
    np.savez_compressed(folder / "predictions.npz", row=rows, label=labels, logits=logits)
    looked = rows[: other.get("looked", probe)]
    _arrays(folder, rows[:probe], labels[:probe], looked, rng, other.get("side", 12), model)
    _focus(folder, looked, rng, model, other.get("zero", 0.2))
    epochs = other.get("epochs", 4)
    values = np.linspace(1 / 7, share, epochs)
    pd.DataFrame(
        {
            "epoch": range(epochs),
            "train/loss": 2 - values,
            "val/loss": 2.1 - values,
            "train/acc": values + 0.02,
            "val/acc": values,
        }
    ).to_csv(folder / "metrics.csv", index=False)
    summary = summary_of(folder.name, model, fraction, seed, logits, labels, other)
    (folder / "run.json").write_text(json.dumps(summary))
    (folder / "config.yaml").write_text("data:\n  data_dir: /home/me/fer.zip\n")
    for name in other.get("leave_out", ()):
        (folder / name).unlink()
    (folder / "summary.json").write_text(json.dumps(summary))
    return folder


def summary_of(name, model, fraction, seed, logits, labels, other):
    """Return the content of summary.json."""
    acc = float((logits.argmax(1) == labels).mean())
    measured = {"acc": acc, "macro_f1": acc, "nll": 1.5, "ece": 0.08, "ece_floor": 0.03}
    cost = {"latency_ms_1": 1.5, "latency_ms_64": 40.0, "peak_memory_bytes": 2**30}
    return {
        "run": name,
        "started": f"2026-01-01T00:00:{seed:02d}+00:00",
        "command": "fer-lightning fit --config /home/me/cnn.yaml --data.data_dir=/home/me/fer.zip",
        "seed": seed,
        "data": other.get("data", "FER-2013"),
        "fingerprint": "f" * 16,
        "notes": {},
        "split": {
            "protocol": "ratio",
            "counts": {"moved": 3, "dropped": 0, "test_with_twin_in_train": other.get("twins", 0)},
            "notes": [],
        },
        "substitutions": other.get("substitutions", ["CPU instead of a GPU"]),
        "model": model,
        "parameters": 1000 * len(model),
        "multiply_adds": 2_000_000,
        "fraction": fraction,
        "images": {"train": int(800 * fraction), "val": 100, "test": len(labels)},
        "classes": list(CLASSES),
        "hardware": "CPU x86_64, 1 threads",
        "versions": {"torch": "2.15.0", "numpy": "2.4"},
        "code": "abc",
        "epochs": other.get("epochs", 4),
        "best_epoch": 3,
        "seconds": 90.0,
        "val": measured | {"epoch": 3},
        "test": measured,
        "cost": cost,
        "completed": True,
    }


def _arrays(folder, rows, labels, looked, rng, side, model):
    features = np.eye(7)[labels] * LEADS.get(model, 0.1) * 10 + rng.normal(0, 1, (len(rows), 7))
    np.savez_compressed(
        folder / "features.npz",
        row=rows,
        label=labels,
        features=features.astype(np.float32),
        points=features[:, :2].astype(np.float32),
        faces=rng.integers(0, 255, (len(rows), 1, side, side), np.uint8),
    )
    heat = rng.random((len(looked), side, side)).astype(np.float16)
    np.savez_compressed(folder / "maps.npz", row=looked, heat=heat)


def _focus(folder, rows, rng, model, zero):
    focused = 2.0 if model == "cnn" else 1.0
    samples, n = [], len(rows)
    empty = rng.random(n) < (zero if model == "vit" else 0)
    for resolution in ("native", "matched"):
        lfr = np.exp(rng.normal(np.log(focused), 0.4, (n, 6)))
        lfr[empty] = np.nan
        table = pd.DataFrame({"row": rows, "file": "a.jpg", "resolution": resolution})
        for place, region in enumerate(REGIONS):
            table[f"lfr_{region}"] = lfr[:, place]
            table[f"lsi_{region}"] = lfr[:, place] / 20
        table["background_share"] = 0.3
        table["excess_key_mean"] = rng.normal(focused - 1, 0.5, n)
        table["excess_key_blur"] = rng.normal(focused - 1, 0.5, n)
        samples.append(table)
    pd.concat(samples).to_csv(folder / "focus_samples.csv", index=False)
    rows_of = []
    for source, seeds in (("model", [""]), ("uniform", [""]), ("untrained", [0, 1, 2])):
        for seed in seeds:
            level = {"model": focused, "uniform": 1.0, "untrained": 0.9}[source]
            for resolution in ("native", "matched"):
                for region in REGIONS:
                    rows_of.append(
                        {
                            "source": source,
                            "seed": seed,
                            "resolution": resolution,
                            "grid": "6x6",
                            "masks": "given",
                            "region": region,
                            "n": n,
                            "zero_maps": int(empty.sum()),
                            "lfr_mean": level,
                            "lfr_median": level,
                            "lfr_log_mean": float(np.log(level)),
                            "lfr_share_ge_1": 0.5,
                            "lsi": 0.1,
                            "background_share": 0.3,
                            "mass_ratio": level,
                        }
                    )
    pd.DataFrame(rows_of).to_csv(folder / "focus.csv", index=False)
    _occlusion(folder, focused)
    _epochs(folder, focused)


def _occlusion(folder, focused):
    drops = {"region": 0.1 * focused, "random": 0.05, "centre": 0.08}
    pd.DataFrame(
        [
            {"region": "key", "patch": patch, "fill": fill, "seed": "", "acc": 0.5}
            | {"acc_drop": drop, "logit_drop": 2 * drop}
            | ({"logit_excess": 0.3, "spearman": 0.2} if patch == "region" else {})
            for fill in ("mean", "blur")
            for patch, drop in drops.items()
        ]
    ).to_csv(folder / "occlusion.csv", index=False)


def _epochs(folder, focused):
    rows = []
    for metric, region in (*(("lfr", r) for r in REGIONS), ("lsi", ""), ("background", "")):
        for maps, epoch in (
            ("uniform", ""),
            ("gaussian_0.25", ""),
            *(("model", e) for e in range(4)),
        ):
            level = focused if maps == "model" else 1.0
            value = level if metric == "lfr" else 0.2
            number = {"median": value, "q25": value, "q75": value, "share_ge_1": 0.5, "n": 42}
            rows.append({"epoch": epoch, "maps": maps, "metric": metric, "region": region} | number)
    pd.DataFrame(rows).to_csv(folder / "focus_epochs.csv", index=False)
