"""``fer-lightning explain``: where a checkpoint looks in any pictures."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

import cv2
import numpy as np
import torch
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import track

from fer_lightning.commands.explain_report import MASKS, notes, say, tell, view
from fer_lightning.commands.explained import Explained, explain
from fer_lightning.commands.file_names import overlay_names, readable
from fer_lightning.controls.explainers import Method
from fer_lightning.controls.report import to_csv
from fer_lightning.data.pictures import list_pictures, read_each
from fer_lightning.errors import UserError, nearest
from fer_lightning.lit.checkpoint import load_net
from fer_lightning.models import VisionModel
from fer_lightning.tracking.run_folder import write_json
from fer_lightning.tracking.whole_folder import NOTES, whole_folder

ALIASES = {"occlusion": "occlusion_map"}
SIZES = (16, 2048)  # pixels of an overlay's side


def parser() -> argparse.ArgumentParser:
    """Return the command's options."""
    options = argparse.ArgumentParser(prog="fer-lightning explain", description=__doc__)
    options.add_argument("--checkpoint", type=Path, required=True, help="such as best.ckpt")
    options.add_argument("--images", type=Path, required=True, help="a picture, or a folder")
    options.add_argument("--out", type=Path, required=True, help="folder for the results")
    options.add_argument("--target", help="class to explain, by name or number (the predicted one)")
    options.add_argument(
        "--method", choices=(*get_args(Method), *ALIASES), default="grad_cam", help="(grad_cam)"
    )
    options.add_argument("--size", type=int, default=224, help="side of an overlay in pixels (224)")
    options.add_argument("--masks", choices=tuple(MASKS), default="template")
    options.add_argument("--overwrite", action="store_true", help="replace an earlier result")
    return options


def main(argv: list[str]) -> int:
    """Explain pictures; write overlays, maps, a CSV file and notes, and print a table."""
    args = parser().parse_args(argv)
    args.method = ALIASES.get(args.method, args.method)
    if not SIZES[0] <= args.size <= SIZES[1]:
        raise UserError(f"expected --size from {SIZES[0]} to {SIZES[1]} but got {args.size}")
    net, about = load_net(args.checkpoint)
    classes = class_names(net, about)
    target = None if args.target is None else find_class(args.target, classes)
    tree, names = list_pictures(args.images, leave_out=args.out)
    if args.images.resolve().is_relative_to(args.out.resolve()):
        raise UserError(
            f"expected --out apart from the pictures but {args.images} lies in {args.out}; "
            "choose another --out"
        )
    overlays = overlay_names(names)
    console = Console()
    with whole_folder(args.out, args.overwrite) as folder:

        def save(name: str, overlay: NDArray[np.uint8]) -> str:
            encoded = cv2.imencode(".png", cv2.cvtColor(overlay, cv2.COLOR_RGB2BGR))[1]
            (folder / overlays[name]).write_bytes(encoded.tobytes())
            return overlays[name]

        quiet = not console.is_terminal
        reading = track(names, "reading", console=console, transient=True, disable=quiet)
        shape = (net.init_args["in_chans"], net.init_args["image_size"])
        pictures = read_each(tree, reading, *shape, shown=args.size)
        net.to("cuda" if torch.cuda.is_available() else "cpu")
        found = explain(net, pictures, classes, save, target, args.method, args.masks)
        if not found.rows:
            raise _no_picture(args.images, found)
        write_maps(folder / "maps.npz", found, classes)
        (folder / "explain.csv").write_text(to_csv(found.rows), encoding="utf-8")
        files = sorted(path.name for path in folder.iterdir())
        told = notes(args, net, about, found)
        write_json(folder / NOTES, told | {"files": [*files, NOTES]})
    for line in told["beware"]:
        say(console, f"Note: {line}")
    console.print(view(found))
    tell(console, args, found)
    return 0


def class_names(net: VisionModel, about: dict[str, Any]) -> list[str]:
    """Return the names of a checkpoint's classes.

    Raises:
        UserError: not one name for each class.
    """
    names = about.get("classes")
    if (
        not isinstance(names, list)
        or len(names) != net.init_args["num_classes"]
        or not all(isinstance(name, str) for name in names)
    ):
        raise UserError(
            f"expected a checkpoint with {net.init_args['num_classes']} names of classes but got "
            f"{names!r:.80}; it is damaged"
        )
    return [readable(name)[:100] for name in names]


def find_class(text: str, classes: Sequence[str]) -> int:
    """Find a class by its name or its number; a name goes before a number.

    Raises:
        UserError: there is none.

    >>> find_class("Sad", ["happy", "sad"]), find_class("0", ["happy", "sad"])
    (1, 0)
    """
    lower = [name.casefold() for name in classes]
    if text.casefold() in lower:
        return lower.index(text.casefold())
    if text.isdecimal() and len(text) < 10 and int(text) < len(classes):
        return int(text)
    raise UserError(
        f"expected a class or its number from 0 to {len(classes) - 1} but got '{text}'; "
        f"{nearest(text.casefold(), classes)}"
    )


def write_maps(path: Path, found: Explained, classes: Sequence[str]) -> None:
    """Write maps, target and logits with the files' names: plain arrays, no pickle."""
    np.savez_compressed(
        path,
        files=np.array([row["file"] for row in found.rows], dtype=str),
        maps=torch.stack(found.maps).numpy(),
        target=torch.stack(found.target).numpy(),
        logits=torch.stack(found.logits).numpy(),
        classes=np.array(classes, dtype=str),
    )


def _no_picture(path: Path, found: Explained) -> UserError:
    name, reason = found.skipped[0]
    if path.is_dir():
        return UserError(
            f"expected pictures in {path} but none of its {len(found.skipped):,} files is one, "
            f"such as {readable(name)} ({reason}); name another folder"
        )
    return UserError(f"expected a picture but {path} is none ({reason}); name another file")
