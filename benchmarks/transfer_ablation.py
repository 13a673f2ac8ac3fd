"""What is it worth to start from pre-trained weights: of the stem, of the encoder, of both?

    python benchmarks/transfer_ablation.py --data fer2013.zip --out transfer
    python benchmarks/transfer_ablation.py --data fer2013.zip --out transfer --source cifar10.zip

The layout of APViT's pre-training ablation (none / stem / encoder / both), for a hybrid that has a
stem and an encoder, and none / both for a CNN and a ViT. There it stood, on RAF-DB, for stems and
encoders from far larger sets: none 81.55, stem 90.84, encoder 78.91, both 91.98.

Each model first learns a source: drawn faces, which need no download, or any set of pictures, made
grey and 48x48. Then each learns FER-2013 for a fixed number of epochs, with a new head and the same
learning rate however it starts; the last epoch is measured, so that nothing is selected. With the
same seed all starts see the same batches.

About 75 CPU-minutes on one thread with the defaults: eight trainings of 6 epochs on 30 % of
FER-2013 (57 s an epoch for the ViT, 90 s for the CNN) and three on 3,000 drawn faces. What is
finished is kept in --out, so the same command goes on after a stop, and another source does not
train from scratch again. Prints Markdown and writes it to table.md.
"""

import argparse
import hashlib
import json
import logging
import time
import warnings
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import lightning as L
import numpy as np
import torch

from fer_lightning.data.augment import Augmentation
from fer_lightning.data.datamodule import Drawn, FERDataModule, Files
from fer_lightning.models import MODELS, build
from fer_lightning.statistics import bootstrap
from fer_lightning.training.module import Classifier
from fer_lightning.training.transfer import Transfer

LEARNING = {"cnn": 1e-4}  # rates on FER-2013: the core experiment's; 3e-4 for the others
SOURCE = {"cnn": (8, 1e-3), "vit": (20, 5e-4)}  # epochs and rate on the source; else (12, 5e-4)
# small batches and no turning: a ViT learns nothing from few drawn faces otherwise
SOURCE_DATA: dict[str, Any] = {
    "batch_size": 32,
    "augmentation": Augmentation(rotation=0, translation=0),
}
TICKS = {"none": ("", ""), "stem": ("x", ""), "encoder": ("", "x"), "both": ("x", "x")}


@dataclass(frozen=True)
class Training:
    """One training, named by everything that decides its numbers."""

    model: str
    start: str  # none, stem, encoder, both; source for the pre-training itself
    source: str  # the fingerprint of the source's images, which the start none has not
    data: str  # the fingerprint of what is learned
    fraction: float
    epochs: int
    seed: int

    @property
    def name(self) -> str:
        """Readable, and different for different trainings."""
        digest = hashlib.sha256(json.dumps(asdict(self)).encode()).hexdigest()[:8]
        return f"{self.model}-{self.start}-seed{self.seed}-{digest}"


def learn(
    training: Training, data: FERDataModule, lr: float, transfer: Transfer, schedule: Any
) -> tuple[Classifier, dict[str, Any]]:
    """Train and measure the last epoch."""
    L.seed_everything(training.seed, verbose=False)
    sizes = {"in_chans": data.in_chans, "image_size": data.image_size}
    net = build(training.model, num_classes=data.num_classes, **sizes)
    module = Classifier(net, lr=lr, schedule=schedule, transfer=transfer)
    began = time.process_time()
    trainer = L.Trainer(
        accelerator="cpu",
        max_epochs=training.epochs,
        check_val_every_n_epoch=training.epochs,  # once, at the end
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        num_sanity_val_steps=0,
        use_distributed_sampler=False,
    )
    trainer.fit(module, data)
    val = module.results["acc"].item()
    trainer.test(module, data, verbose=False)
    found = module.predictions
    return module, asdict(training) | {
        "images": len(data.split.train),
        "val": val,
        "test": module.results["acc"].item(),
        "macro_f1": module.results["macro_f1"].item(),
        "cpu_seconds": round(time.process_time() - began),
        "loaded": [{k: v for k, v in r.items() if k != "file"} for r in module.loaded or []],
        "ids": found.row.tolist(),
        "correct": (found.logits.argmax(1) == found.label).int().tolist(),
    }


class Ablation:
    """All trainings of one command; those that are finished are read."""

    def __init__(self, args: argparse.Namespace) -> None:
        self.args = args
        args.out.mkdir(parents=True, exist_ok=True)
        self.target = FERDataModule(data_dir=args.data, fraction=args.fraction)
        if args.source == "drawn":
            drawn = Drawn(size=args.faces, difficulty=args.difficulty)
            self.source = FERDataModule(source="drawn", drawn=drawn, **SOURCE_DATA)
        else:
            files = Files(colour=False, image_size=self.target.image_size)
            self.source = FERDataModule(data_dir=args.source, files=files, **SOURCE_DATA)

    def once(self, training: Training, *how: Any) -> dict[str, Any]:
        """Train, or read what the same training gave; weights of the source are kept, too."""
        path = self.args.out / f"{training.name}.json"
        if not path.is_file():
            module, found = learn(training, *how)
            if training.start == "source":
                torch.save(module.net.state_dict(), path.with_suffix(".pt"))
            whole = path.with_suffix(".part")
            whole.write_text(json.dumps(found))
            whole.replace(path)
        found = json.loads(path.read_text())
        told = f"val {found['val']:.3f}, test {found['test']:.3f}, {found['cpu_seconds']} CPU-s"
        print(f"<!-- {training.name}: {told} -->", flush=True)
        return found

    def training(self, model: str, start: str, seed: int) -> Training:
        """Name a training."""
        args, to = self.args, self.source if start == "source" else self.target
        return Training(
            model,
            start,
            source="" if start == "none" else self.source.image_set.fingerprint,
            data=to.image_set.fingerprint,
            fraction=1.0 if start == "source" else args.fraction,
            epochs=SOURCE.get(model, (12, 0.0))[0] if start == "source" else args.epochs,
            seed=seed,
        )

    def of_model(self, model: str, seed: int) -> list[dict[str, Any]]:
        """Pre-train, then learn from every start."""
        source = self.training(model, "source", seed)
        rate = SOURCE.get(model, (0, 5e-4))[1]
        rows = [self.once(source, self.source, rate, Transfer(), "constant")]
        weights = str(self.args.out / f"{source.name}.pt")
        starts = {"none": Transfer(), "both": Transfer(weights=weights)}
        if "stem" in build(model).parts:
            parts = {"stem": Transfer(stem=weights), "encoder": Transfer(encoder=weights)}
            starts = {"none": starts["none"], **parts, "both": starts["both"]}
        for start, transfer in starts.items():
            how = (self.target, LEARNING.get(model, 3e-4), transfer, "cosine")
            rows.append(self.once(self.training(model, start, seed), *how))
        return rows


def table(rows: list[dict[str, Any]]) -> str:
    """Accuracies, means over seeds, and gains over none with their intervals, in Markdown."""
    lines = [
        "| model | stem | encoder | validation | test | macro-F1 | gain over none, points (95 %) |",
        "|---|---|---|---|---|---|---|",
    ]
    cells: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in rows:
        cells.setdefault((row["model"], row["start"]), []).append(row)
    for (model, start), runs in cells.items():
        if start == "source":
            continue
        gain = ""
        if start != "none":
            right = [np.array([r["correct"] for r in c]) for c in (runs, cells[model, "none"])]
            found = bootstrap(100.0 * (right[0] - right[1]))
            of = found.seeds or found.images
            gain = f"{of.estimate:+.1f} ({of.low:+.1f} to {of.high:+.1f})"
        means = (np.mean([r[name] for r in runs]) for name in ("val", "test", "macro_f1"))
        parts = TICKS[start] if (model, "stem") in cells else ("", "all" * (start == "both"))
        lines.append(f"| {model} | {' | '.join([*parts, *(f'{m:.3f}' for m in means), gain])} |")
    told = [
        f"`{model}` {np.mean([r['test'] for r in runs]):.3f}"
        for (model, start), runs in cells.items()
        if start == "source"
    ]
    return "\n".join([*lines, "", f"Test accuracy on the source itself: {', '.join(told)}."])


def verdict(rows: list[dict[str, Any]], args: argparse.Namespace) -> str:
    """H3 by the study's rule: does pre-training help the ViT less than the CNN?"""
    from fer_lightning.hypotheses import judge_all, read_asked
    from fer_lightning.hypotheses.evidence import Cell

    names = {"none": "{}", "both": "{} pre-trained"}
    cells = [
        Cell(
            names[row["start"]].format(row["model"]),
            args.fraction,
            row["seed"],
            np.array(row["ids"]),
            np.array(row["correct"], dtype=bool),
        )
        for row in rows
        if row["start"] in names
    ]
    asked = {"hypothesis": "H3", "first": "cnn", "second": "vit"}
    asked |= {f"{place}_pretrained": f"{asked[place]} pre-trained" for place in ("first", "second")}
    models = [cell.model for cell in cells]
    (found,) = judge_all(read_asked([asked], models), cells, [], [args.fraction], args.seeds)
    return "\n\n".join([f"H3, {found.statement}: **{found.outcome}**. {found.reason}", found.rule])


def main() -> None:
    parser = argparse.ArgumentParser(description="Pre-training ablation: none/stem/encoder/both.")
    parser.add_argument("--data", required=True, help="FER-2013, in any of its forms")
    parser.add_argument("--out", type=Path, required=True, help="folder of finished trainings")
    parser.add_argument("--source", default="drawn", help="drawn, or pictures such as cifar10.zip")
    parser.add_argument("--faces", type=int, default=3000, help="that are drawn")
    parser.add_argument("--difficulty", type=float, default=0.0, help="of drawn faces")
    models = ["hybrid_vit", "cnn", "vit"]
    parser.add_argument("--models", nargs="+", choices=list(MODELS), default=models)
    parser.add_argument("--fraction", type=float, default=0.3, help="of the training images")
    parser.add_argument("--epochs", type=int, default=6, help="on FER-2013")
    parser.add_argument("--seeds", type=int, nargs="+", default=[42])
    parser.add_argument("--threads", type=int, default=1)
    args = parser.parse_args()
    logging.getLogger("lightning.pytorch").setLevel(logging.WARNING)
    warnings.filterwarnings("ignore", module="lightning")
    torch.set_num_threads(args.threads)

    ablation = Ablation(args)
    rows = [
        row
        for seed in args.seeds
        for model in args.models
        for row in ablation.of_model(model, seed)
    ]
    text = table(rows)
    if {"cnn", "vit"} <= set(args.models):
        text += f"\n\n{verdict(rows, args)}"
    print(f"\n{text}")
    (args.out / "table.md").write_text(f"{text}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
