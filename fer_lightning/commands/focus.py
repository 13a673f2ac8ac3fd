"""``fer-lightning focus``: where a checkpoint looks, and what these numbers are worth."""

import argparse
from pathlib import Path
from typing import Any, get_args

import torch
from rich.console import Console
from torch import Tensor

from fer_lightning.commands.resolve import data_of_run, run_of
from fer_lightning.data.augment import to_float
from fer_lightning.data.landmarks import read_landmarks
from fer_lightning.data.masks import masks_come_from, masks_for, regions_of
from fer_lightning.data.splits import probe_rows
from fer_lightning.errors import UserError
from fer_lightning.execution.training import say
from fer_lightning.look.controls.randomisation import randomisation
from fer_lightning.look.focus import Focus, Sample, Target, measure_focus, tables_of, with_method
from fer_lightning.look.heat import GRID
from fer_lightning.look.methods import find_method, list_methods
from fer_lightning.look.tables import (
    LEGEND,
    focus_view,
    hiding_view,
    masks_view,
    randomisation_view,
    to_csv,
    verdict,
)
from fer_lightning.runs.files import CONTROLS, FILES, read_csv
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
    options.add_argument("--method", default="grad_cam", help=f"one of {', '.join(list_methods())}")
    options.add_argument("--grid", type=int, default=GRID, help="side of matched maps in cells")
    options.add_argument("--batch_size", type=int, default=256)
    options.add_argument("--device", choices=("cpu", "cuda"), help="a GPU if there is one")
    return options


def main(argv: list[str]) -> int:
    """Measure a checkpoint's focus with all controls, write CSV files and print tables."""
    args = parser().parse_args(argv)
    device = _device(args.device)
    method = find_method(args.method)
    if args.batch_size < 1:
        raise UserError(f"expected batch_size of at least 1 but got {args.batch_size}; raise it")
    net, about = load_net(args.checkpoint)
    data = data_of_run(args.checkpoint, about, args.data_dir)
    image_set, landmarks = data.image_set, data.landmarks
    regions = regions_of(image_set)
    if args.landmarks is not None:
        landmarks = read_landmarks(args.landmarks)
    part = getattr(data.split, args.part)
    rows = probe_rows(part, args.n, args.seed, image_set.fingerprint)
    masks = masks_for(image_set, rows, args.masks, landmarks)
    there = masks[:, regions.row(regions.primary)].any((1, 2))
    rows, masks = rows[there], masks[there]
    sample = Sample(
        to_float(torch.from_numpy(image_set.images[rows])).to(device),
        torch.from_numpy(image_set.labels[rows]),
        torch.from_numpy(masks),
        regions,
    )
    sample.check()  # before a folder is made
    out = _folder(args.out, args.checkpoint)
    console = Console()
    say(console, f"{len(rows)} of {len(part):,} {args.part} images, seed {args.seed}")
    if not there.all():
        say(console, f"Note: {(~there).sum()} images without {regions.primary} were left out")
    word, sentence = masks_come_from(image_set, args.masks, landmarks is not None)
    for line in notes(image_set.name, sentence, sample.masks):
        say(console, f"Note: {line}")

    net = net.to(device)
    ways = {"method": method.name, "batch_size": args.batch_size}
    found = measure_focus(net, sample, args.seed, args.target, grid=args.grid, **ways)
    cascade = randomisation(net, sample.images, args.seed, **ways)
    names = [str(name) for name in image_set.files[rows]]
    tables = tables_of(found, sample, rows.tolist(), names, image_set.classes)
    tables["randomisation"] = with_method(cascade, method.name)
    tables["focus"] = [{**row, "regions_from": word} for row in tables["focus"]]
    for name, table in tables.items():
        _write(out / FILES[name].name, table, method.name)
    _show(console, found, cascade)
    right = (found.predicted == sample.labels).float().mean()
    say(console, f"Accuracy on these images: {right:.3f}")
    say(console, f"{', '.join(FILES[name].name for name in tables)} lie in {out}")
    return 0


def _write(path: Path, rows: list[Any], method: str) -> None:
    """Write a table; rows of other methods that were measured before stay in it."""
    kept: list[Any] = []
    if path.is_file():
        before = read_csv(path)
        if "method" not in before:
            before.insert(0, "method", "grad_cam")
        others = before[before["method"] != method]
        kept = others.astype(object).where(others.notna(), "").to_dict("records")
    with atomic(path) as file:
        file.write(to_csv([*kept, *rows]))


def _show(console: Console, found: Focus, cascade: list[Any]) -> None:
    regions = found.regions
    say(console, f"Maps: {find_method(found.method).title}")
    for view in (
        focus_view(found.table, "native", regions),
        focus_view(found.table, "matched", regions),
        masks_view(found.table, regions),
        hiding_view(found.hidden.rows, regions),
        randomisation_view(cascade),
    ):
        console.print(view)
    say(console, LEGEND.format(subject=regions.subject))
    say(console, verdict(found.table, regions))


def notes(data: str, masks_from: str, masks: Tensor) -> list[str]:
    """Say what stands in for what a reader would expect, and where the masks come from."""
    found = [*substitutions(data, "online", "cuda"), masks_from]
    if not (masks != masks[:1]).any():
        found.append("all images share their masks, so these cannot be shuffled")
    return found


def _folder(given: Path | None, checkpoint: Path) -> Path:
    run = run_of(checkpoint)
    out = given or (checkpoint.parent if run is None else run.path) / CONTROLS
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
