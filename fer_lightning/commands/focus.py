"""``fer-lightning focus``: where a checkpoint looks, and what these numbers are worth."""

import argparse
from pathlib import Path
from typing import get_args

import torch
from rich.console import Console
from torch import Tensor

from fer_lightning.commands.run_data import data_of_run, run_of
from fer_lightning.data.augment import to_float
from fer_lightning.data.image_set import ImageSet
from fer_lightning.data.landmarks import read_landmarks
from fer_lightning.data.probe import probe_rows
from fer_lightning.data.regions import masks_for
from fer_lightning.errors import UserError
from fer_lightning.look.controls.randomisation import randomisation
from fer_lightning.look.focus import Target, check_inputs, measure_focus, samples
from fer_lightning.look.heat import GRID
from fer_lightning.look.methods import Method
from fer_lightning.look.tables import (
    LEGEND,
    focus_view,
    masks_view,
    occlusion_view,
    randomisation_view,
    to_csv,
    verdict,
)
from fer_lightning.runs.folder import atomic
from fer_lightning.runs.provenance import substitutions
from fer_lightning.training.checkpoint import load_net


def parser() -> argparse.ArgumentParser:
    """Return the command's options."""
    options = argparse.ArgumentParser(prog="fer-lightning focus", description=__doc__)
    options.add_argument("--checkpoint", type=Path, required=True, help="such as best.ckpt")
    options.add_argument("--data_dir", help="the data, if not where it lay during training")
    options.add_argument("--out", type=Path, help="folder for CSV files; controls/ in the run")
    options.add_argument("--n", type=int, default=200, help="images looked at (default 200)")
    options.add_argument("--seed", type=int, default=0, help="of images, noise and patches")
    options.add_argument("--part", choices=("test", "val"), default="test")
    options.add_argument("--masks", choices=("auto", "template", "exact"), default="auto")
    options.add_argument("--landmarks", type=Path, help="outlines of each image (.json, .csv)")
    options.add_argument("--target", choices=get_args(Target), default="predicted")
    options.add_argument("--method", choices=get_args(Method), default="grad_cam")
    options.add_argument("--grid", type=int, default=GRID, help="cells a side of matched maps")
    options.add_argument("--batch_size", type=int, default=256)
    options.add_argument("--device", choices=("cpu", "cuda"), help="a GPU if there is one")
    return options


def main(argv: list[str]) -> int:
    """Measure a checkpoint's focus with all controls, write CSV files and print tables."""
    args = parser().parse_args(argv)
    device = _device(args.device)
    if args.batch_size < 1:
        raise UserError(f"expected batch_size of at least 1 but got {args.batch_size}; raise it")
    net, about = load_net(args.checkpoint)
    data = data_of_run(args.checkpoint, about, args.data_dir)
    image_set = data.image_set
    part = getattr(data.split, args.part)
    rows = probe_rows(part, args.n, args.seed, image_set.fingerprint)
    landmarks = None if args.landmarks is None else read_landmarks(args.landmarks)
    masks = torch.from_numpy(masks_for(image_set, rows, args.masks, landmarks))
    labels = torch.from_numpy(image_set.labels[rows])
    images = to_float(torch.from_numpy(image_set.images[rows])).to(device)
    check_inputs(images, masks, labels)  # before a folder is made
    out = _folder(args.out, args.checkpoint)
    console = Console()
    _say(console, f"{len(rows)} of {len(part):,} {args.part} images, seed {args.seed}")
    for line in notes(image_set, masks, args.masks, landmarks is not None):
        _say(console, f"Note: {line}")

    net = net.to(device)
    ways = {"method": args.method, "batch_size": args.batch_size}
    found = measure_focus(
        net, images, labels, masks, args.seed, args.target, grid=args.grid, **ways
    )
    cascade = randomisation(net, images, args.seed, **ways)
    names = [str(name) for name in image_set.files[rows]]
    files = {
        "focus.csv": found.table,
        "focus_samples.csv": samples(found, labels, rows.tolist(), names, image_set.classes),
        "occlusion.csv": found.hidden.rows,
        "randomisation.csv": cascade,
    }
    for name, content in files.items():
        with atomic(out / name) as file:
            file.write(to_csv(content))
    for view in (
        focus_view(found.table, "native"),
        focus_view(found.table, "matched"),
        masks_view(found.table),
        occlusion_view(found.hidden.rows),
        randomisation_view(cascade),
    ):
        console.print(view)
    _say(console, LEGEND)
    _say(console, verdict(found.table))
    _say(console, f"Accuracy on these images: {(found.predicted == labels).float().mean():.3f}")
    _say(console, f"{', '.join(files)} lie in {out}")
    return 0


def notes(image_set: ImageSet, masks: Tensor, kind: str, landmarks: bool) -> list[str]:
    """Say what stands in for what a reader would expect, and where the masks come from."""
    found = substitutions(image_set.name, "online", "cuda")
    if kind != "template" and image_set.masks is not None:
        found.append("exact masks of each image, as it was drawn")
    elif kind != "template" and landmarks:
        found.append("masks from landmarks where the file knows the image, else the template")
    else:
        found.append("one template of masks on the mean face, not the regions of each image")
    if not (masks != masks[:1]).any():
        found.append("all images share their masks, so these cannot be shuffled")
    return found


def _folder(given: Path | None, checkpoint: Path) -> Path:
    run = run_of(checkpoint)
    out = given or (checkpoint.parent if run is None else run.path) / "controls"
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(
            f"expected to write into {out} but cannot ({error.strerror}); choose another --out"
        ) from error
    return out


def _device(given: str | None) -> str:
    there = torch.cuda.is_available()
    if given == "cuda" and not there:
        raise UserError("expected a GPU for --device cuda but found none; leave the option out")
    return given or ("cuda" if there else "cpu")


def _say(console: Console, text: str) -> None:
    console.print(text, highlight=False, soft_wrap=True, markup=False)
