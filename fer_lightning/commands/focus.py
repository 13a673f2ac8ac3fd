"""``fer-lightning focus``: where a checkpoint looks, and what these numbers are worth."""

import argparse
from pathlib import Path
from typing import Any, get_args

import numpy as np
import torch
from rich.console import Console
from torch import Tensor

from fer_lightning.commands.checkpoint_file import TAKES, checkpoint_file
from fer_lightning.commands.options import Options
from fer_lightning.commands.resolve import data_of_run, run_of
from fer_lightning.data.augment import to_float
from fer_lightning.data.landmarks import landmarks_of
from fer_lightning.data.masks import find_masks, regions_of, regions_sentence
from fer_lightning.data.splits import probe_rows
from fer_lightning.errors import UserError
from fer_lightning.execution.study.cells import leave_out
from fer_lightning.look.controls.randomisation import randomisation
from fer_lightning.look.focus import (
    Controls,
    Focus,
    Sample,
    Target,
    hide_sample,
    measure_focus,
    tables_of,
    with_method,
)
from fer_lightning.look.heat import GRID
from fer_lightning.look.methods import by_each, find_method, find_methods, list_methods
from fer_lightning.look.tables import (
    focus_view,
    hiding_view,
    hiding_words,
    legend,
    masks_view,
    randomisation_view,
    sees_nothing,
    to_csv,
    verdict,
)
from fer_lightning.models.shipped_weights import shipped
from fer_lightning.runs.files import CONTROLS, DEFAULT_METHODS, FILES, read_csv
from fer_lightning.runs.folder import atomic
from fer_lightning.runs.provenance import substitutions
from fer_lightning.screen import Screen, say
from fer_lightning.training.checkpoint import load_net

TABLES = ("focus", "focus_samples", "hiding", "randomisation")


def parser() -> argparse.ArgumentParser:
    """Return the command's options."""
    options = Options(prog="fer-lightning focus", description=__doc__)
    options.add_argument("--checkpoint", type=Path, required=True, help=TAKES)
    options.add_argument("--data_dir", help="the data, if not where it lay during training")
    options.add_argument("--out", type=Path, help="folder for CSV files; controls/ in the run")
    options.add_argument("--n", type=int, default=200, help="images looked at (default 200)")
    options.add_argument("--seed", type=int, default=0, help="of images, noise and patches")
    options.add_argument("--part", choices=("test", "val"), default="test")
    options.add_argument("--masks", choices=("auto", "template", "exact"), default="auto")
    options.add_argument(
        "--landmarks", help="where each face's regions are (.npz, .csv, .json); none: the template"
    )
    options.add_argument("--target", choices=get_args(Target), default="predicted")
    options.add_argument(
        "--method",
        nargs="+",
        action="extend",
        help=f"one or several of {', '.join(list_methods())} ({', '.join(DEFAULT_METHODS)})",
    )
    options.add_argument(
        "--controls",
        choices=get_args(Controls),
        default="full",
        help="maps: the model's own maps and the hiding test alone, which is cheap (full)",
    )
    options.add_argument("--grid", type=int, default=GRID, help="side of matched maps in cells")
    options.add_argument("--batch_size", type=int, default=256)
    options.add_argument("--device", choices=("cpu", "cuda"), help="a GPU if there is one")
    return options


def main(argv: list[str]) -> int:
    """Measure a checkpoint's focus with all controls, write CSV files and print tables."""
    args = parser().parse_args(argv)
    device = _device(args.device)
    methods = find_methods(args.method or DEFAULT_METHODS)
    if args.batch_size < 1:
        raise UserError(f"expected batch_size of at least 1 but got {args.batch_size}; raise it")
    args.checkpoint = checkpoint_file(args.checkpoint)
    net, about = load_net(args.checkpoint)
    data = data_of_run(args.checkpoint, about, args.data_dir)
    image_set, landmarks = data.image_set, data.landmarks
    regions = regions_of(image_set)
    if args.landmarks is not None:
        landmarks = landmarks_of(image_set, args.landmarks)
    part = getattr(data.split, args.part)
    rows = probe_rows(part, args.n, args.seed, image_set.fingerprint)
    masks, words = find_masks(image_set, rows, args.masks, landmarks)
    there = np.any(masks[:, regions.row(regions.primary)], axis=(1, 2))
    rows, masks = rows[there], masks[there]
    words = tuple(word for word, kept in zip(words, there, strict=True) if kept)
    sample = Sample(
        to_float(torch.from_numpy(image_set.images[rows])).to(device),
        torch.from_numpy(image_set.labels[rows]),
        torch.from_numpy(masks),
        regions,
        words,
    )
    sample.check()  # before a folder is made
    out = _folder(args.out, args.checkpoint)
    console = Screen()
    say(console, f"{len(rows)} of {len(part):,} {args.part} images, seed {args.seed}")
    if not there.all():
        say(console, f"Note: {(~there).sum()} images without {regions.primary} were left out")
    sentence = regions_sentence(words, image_set.labels[rows], image_set.classes)
    for line in notes(image_set.name, sentence, sample.masks):
        say(console, f"Note: {line}")

    net = net.to(device)
    hidden = hide_sample(net, sample, args.seed, args.batch_size)  # the same for every method
    names = [str(name) for name in image_set.files[rows]]

    def measured(method: str) -> Focus:
        """Measure by one method, and write and show it before the next begins."""
        ways: dict[str, Any] = {"method": method, "batch_size": args.batch_size}
        asked = {"grid": args.grid, "controls": args.controls, "hidden": hidden}
        found = measure_focus(net, sample, args.seed, args.target, **asked, **ways)
        full = args.controls == "full"
        cascade = randomisation(net, sample.images, args.seed, **ways) if full else []
        tables = tables_of(found, sample, rows.tolist(), names, image_set.classes)
        tables["randomisation"] = with_method(cascade, method)  # last: it tells that all is there
        for name, table in tables.items():
            _write(out / FILES[name].name, table, method)
        _show(console, found, cascade)
        doubt = find_method(method).doubt
        if doubt is not None and (words := doubt(net, sample.images)):
            say(console, f"Note: {find_method(method).title}: {words}")
        return found

    impossible: dict[str, str] = {}
    found = by_each(methods, measured, impossible.__setitem__)
    leave_out(out, impossible, measured=found)
    for name, why in impossible.items():
        say(console, f"Note: {find_method(name).title} is left out: {why}")
    first = next(iter(found.values()))
    console.print(hiding_view(first.hidden.rows, regions))
    right = (first.predicted == sample.labels).float().mean()
    say(console, f"Accuracy on these images: {right:.3f}")
    written = [FILES[name].name for name in TABLES if (out / FILES[name].name).is_file()]
    say(console, f"{', '.join(written)} lie in {out}")
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
    if not kept and not rows:
        path.unlink(missing_ok=True)
        return
    with atomic(path) as file:
        file.write(to_csv([*kept, *rows]))


def _show(console: Console, found: Focus, cascade: list[Any]) -> None:
    regions = found.regions
    say(console, f"Maps: {find_method(found.method).title}")
    if sees_nothing(found.table):
        say(console, verdict(found.table, regions))
        return
    views = [focus_view(found.table, resolution, regions) for resolution in ("native", "matched")]
    if cascade:
        views += [masks_view(found.table, regions), randomisation_view(cascade)]
    for view in views:
        console.print(view)
    say(console, legend(regions))
    if cascade:
        say(console, verdict(found.table, regions))
    say(console, hiding_words(found.hidden.rows, regions))


def notes(data: str, masks_from: str, masks: Tensor) -> list[str]:
    """Say what stands in for what a reader would expect, and where the masks come from."""
    found = [*substitutions(data, "online", "cuda"), masks_from]
    if not (masks != masks[:1]).any():
        found.append("all images share their masks, so these cannot be shuffled")
    return found


def _folder(given: Path | None, checkpoint: Path) -> Path:
    run = run_of(checkpoint)
    if given is None and checkpoint in shipped().values():
        raise UserError(
            f"expected --out for {checkpoint.stem}, which comes with the package, but got none; "
            "name a folder"
        )
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
