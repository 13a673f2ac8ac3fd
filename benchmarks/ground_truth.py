"""Which numbers tell a model that reads expressions from one that reads the background?

    python benchmarks/ground_truth.py
    python benchmarks/ground_truth.py --seed 1 --out ground_truth.md

Drawn faces know the truth. On "expression" the face tells the label and the background nothing; on
"cue" a pattern around the head tells it and the drawn expression is random; on "both" (only if
asked for) either tells it, and the model chooses. One model of each architecture learns each set,
then all maps and controls are computed on the same 200 test faces with their exact masks.

Prints three tables in Markdown: what hiding regions does (the arbiter, which needs no map), what
each kind of map says of the key regions, and what maps say that know nothing. "Separation" is the
probability that an image's KEY LFR is higher for the model that reads expressions than one for the
model that reads the cue, zero maps counted as 0: 1 is the truth, 0.5 tells nothing, below 0.5 the
map misleads.
"""

import argparse
import logging
import time
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import lightning as L
import numpy as np
import torch
from sklearn.metrics import roc_auc_score
from torch import Tensor

from fer_lightning.data.augment import Augmentation, to_float
from fer_lightning.data.datamodule import FERDataModule
from fer_lightning.data.faces import drawn_faces
from fer_lightning.data.masks import masks_for
from fer_lightning.data.regions import FACE
from fer_lightning.data.splits import probe_rows
from fer_lightning.look.controls.hiding import Hiding, correlate, hide_regions
from fer_lightning.look.focus import map_sources
from fer_lightning.look.heat import match, to_heat
from fer_lightning.look.measure import measure, summarise_regions
from fer_lightning.look.methods import explain, list_methods
from fer_lightning.look.tables import number, percent
from fer_lightning.models import NoAttentionError, VisionModel, build
from fer_lightning.training.module import Classifier

KEY = FACE.row("key")
DATA: dict[str, dict[str, Any]] = {
    "expression": {"cue": "none"},
    "cue": {"cue": "background", "expression": "random"},
    "both": {"cue": "background"},
}


class Recipe(NamedTuple):
    """Enough for these faces; the paper's ViT learns nothing from 2,400, a small one does."""

    epochs: int
    lr: float
    net: dict[str, Any]


RECIPES = {
    "cnn": Recipe(6, 5e-4, {}),
    "vit": Recipe(24, 1e-3, {"dim": 64, "depth": 2, "heads": 4}),
}


class Run(NamedTuple):
    """One trained model with the images it is measured on."""

    name: str
    learned: str
    net: VisionModel
    images: Tensor
    labels: Tensor
    masks: Tensor
    hidden: Hiding


def train(name: str, learned: str, args: argparse.Namespace) -> Run:
    faces = drawn_faces(args.size, args.seed, difficulty=args.difficulty, **DATA[learned])
    flips = Augmentation(rotation=0, translation=0)
    data = FERDataModule(source="drawn", batch_size=32, augmentation=flips)
    data.image_set = faces
    L.seed_everything(args.seed, verbose=False)
    epochs, lr, net_args = RECIPES[name]
    module = Classifier(build(name, **net_args), lr=lr)
    trainer = L.Trainer(
        max_epochs=args.epochs or epochs,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        use_distributed_sampler=False,
        num_sanity_val_steps=0,
    )
    trainer.fit(module, data)
    rows = probe_rows(data.split.test, args.n, args.seed, faces.fingerprint)
    images = to_float(torch.from_numpy(faces.images[rows]))
    labels = torch.from_numpy(faces.labels[rows])
    masks = torch.from_numpy(masks_for(faces, rows))
    net = module.net.eval()
    hidden = hide_regions(net, images, labels, masks, FACE)
    return Run(name, learned, net, images, labels, masks, hidden)


def table(header: list[str], rows: list[list[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def arbiter(runs: list[Run]) -> str:
    """Accuracy lost when regions are hidden, mean over fills and seeds."""
    rows = []
    for run in runs:
        lost: dict[tuple[str, str], list[float]] = {}
        for row in run.hidden.rows:
            lost.setdefault((str(row["region"]), str(row["patch"])), []).append(row["acc_drop"])
        drops = [
            number(float(np.mean(lost[region, patch])))
            for region in ("key", "background")
            for patch in ("region", "random", "centre")
        ]
        rows.append([run.name, run.learned, number(run.hidden.rows[0]["acc"]), *drops])
    header = ["model", "learned", "accuracy", "KEY hidden", "random", "centre"]
    return table([*header, "BACKGROUND hidden", "random", "centre"], rows)


def focus_cells(heat: Tensor, masks: Tensor) -> tuple[list[str], Tensor]:
    """Cells of one kind of maps, and the matched LFR of KEY, image by image."""
    native, matched = (measure(maps, masks, FACE) for maps in (heat, match(heat)))
    row, coarse = (summarise_regions(values, FACE)[KEY] for values in (native, matched))
    cells = [
        *(number(float(r["lfr_median"])) for r in (row, coarse)),
        f"{percent(coarse['lfr_share_ge_1'])} / {percent(coarse['lfr_share_ge_1_zeros_in'])}",
        *(number(coarse[n]) for n in ("lsi", "background_share", "mass_ratio", "mask_auc")),
        str(row["zero_maps"]),
    ]
    return cells, matched["lfr"][:, KEY]


FOCUS_HEADER = ["LFR", "LFR 6x6", "≥1.0 %, zeros out / in", "LSI", "background", "mass", "AUC"]
FOCUS_HEADER += ["zero maps"]


def by_method(runs: list[Run]) -> str:
    """What each kind of map says of KEY, and how well it tells expression from cue."""
    rows = []
    lfr: dict[tuple[str, str, str], Tensor] = {}
    for run in runs:
        for method in list_methods():
            try:
                maps = explain(run.net, run.images, method=method)
            except NoAttentionError:
                continue
            heat = to_heat(maps, (run.images.shape[2], run.images.shape[3]))
            cells, of_image = focus_cells(heat, run.masks)
            lfr[run.name, method, run.learned] = of_image
            rho = correlate(of_image, run.hidden.excess["key_mean"])["spearman"]
            rows.append([run.name, method, run.learned, *cells, number(float(rho))])
    for row in rows:
        pair = [lfr.get((row[0], row[1], learned)) for learned in ("expression", "cue")]
        row.append(separation(*pair) if row[2] == "expression" else "")
    rows.sort(key=lambda row: (row[0], list_methods().index(row[1])))
    header = ["model", "map", "learned", *FOCUS_HEADER, "rank corr. with hiding KEY", "separation"]
    return table(header, rows)


def separation(expression: Tensor | None, cue: Tensor | None) -> str:
    if expression is None or cue is None:
        return ""
    scores = torch.cat([expression, cue]).nan_to_num(0.0).clamp(max=1e9)
    truth = [1] * len(expression) + [0] * len(cue)
    return number(float(roc_auc_score(truth, scores.numpy())))


def nulls(runs: list[Run]) -> str:
    """What maps say that know nothing; those that need no model only once."""
    rows = []
    for i, run in enumerate(runs):
        for source in map_sources(run.net, run.images, run.labels)[1:]:
            if i > 0 and source.name.startswith(("uniform", "gaussian")):
                continue
            cells, _ = focus_cells(source.heat, run.masks)
            name = f"{source.name} {source.seed}".strip().replace("_", " ")
            rows.append([run.name, run.learned, name, *cells])
    return table(["model", "learned", "null map", *FOCUS_HEADER], rows)


def main() -> None:
    parser = argparse.ArgumentParser(description="Ground truth of the focus metrics.")
    parser.add_argument("--models", nargs="+", choices=list(RECIPES), default=list(RECIPES))
    parser.add_argument("--data", nargs="+", choices=list(DATA), default=["expression", "cue"])
    parser.add_argument("--size", type=int, default=3000, help="faces drawn, 8:1:1")
    parser.add_argument("--epochs", type=int, help="instead of 6 (cnn) and 24 (vit)")
    parser.add_argument("--n", type=int, default=200, help="test faces measured")
    parser.add_argument("--seed", type=int, default=0, help="of faces, training and probe")
    parser.add_argument("--difficulty", type=float, default=0.0, help="0 clear to 1 faint")
    parser.add_argument("--out", type=Path, help="write the tables there, too")
    args = parser.parse_args()
    logging.getLogger("lightning.pytorch").setLevel(logging.WARNING)
    warnings.filterwarnings("ignore", module="lightning")

    runs = []
    for name in args.models:
        for learned in args.data:
            began = time.monotonic()
            runs.append(train(name, learned, args))
            acc = runs[-1].hidden.rows[0]["acc"]
            print(
                f"<!-- {name}, {learned}: {acc:.3f}, {time.monotonic() - began:.0f} s -->",
                flush=True,
            )
    sections = (
        ("What hiding does to accuracy", arbiter),
        ("What maps say of the key regions", by_method),
        ("What maps say that know nothing", nulls),
    )
    text = "\n\n".join(f"### {title}\n\n{section(runs)}" for title, section in sections)
    print(f"\n{text}")
    if args.out is not None:
        args.out.write_text(f"{text}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
