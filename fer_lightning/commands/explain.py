"""``fer-lightning explain``: where a checkpoint looks in any pictures."""

import argparse
import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Any, Literal

import cv2
import numpy as np
import torch
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import track
from rich.table import Table
from torch import Tensor

from fer_lightning.commands.checkpoint_file import TAKES, checkpoint_file
from fer_lightning.commands.options import Options
from fer_lightning.data import face_mesh
from fer_lightning.data.augment import to_float
from fer_lightning.data.labels import FERPLUS_CLASSES
from fer_lightning.data.landmarks import face_masks, shipped_landmarks
from fer_lightning.data.masks import image_key, template
from fer_lightning.data.networks import FACE_MESH, network_at_hand
from fer_lightning.data.readers.pictures import HOW, Picture, Skipped, list_pictures, read_each
from fer_lightning.data.regions import FACE
from fer_lightning.errors import UserError, nearest
from fer_lightning.look import methods as explainers
from fer_lightning.look.controls.hiding import answers
from fer_lightning.look.frozen import choose
from fer_lightning.look.heat import is_zero, to_heat
from fer_lightning.look.methods import find_method, list_methods
from fer_lightning.look.methods.grad_cam import Cam
from fer_lightning.look.metrics import background_share, local_focus_ratio, local_sensitivity_index
from fer_lightning.look.overlay import BLUR, draw_overlay, for_drawing
from fer_lightning.look.tables import to_csv
from fer_lightning.models import VisionModel, describe
from fer_lightning.runs.folder import NOTES, whole_folder, write_json
from fer_lightning.runs.provenance import substitutions, versions
from fer_lightning.screen import Screen, say
from fer_lightning.training.checkpoint import load_net

LONGEST = 180  # bytes of a name without its ending; file systems allow 255 with everything
BATCH = 16  # pictures that are held at once
FOCUS = (*(f"lfr_{name}" for name in FACE.rows), "lsi", "background_share")
TEMPLATE = "template masks"
SHOWN = 20  # rows on the terminal
NAMED = 10  # skipped files on the terminal
LANDMARKS = "landmarks"
MASKS = {
    "auto": "each face's own regions where its landmarks are found, else template masks: regions "
    "of the mean face of FER-2013",
    "template": f"{TEMPLATE}: regions of the mean face of FER-2013, the same for each picture; "
    "their numbers mean something only where one upright face fills the picture",
    "none": "no masks: focus was not measured",
}
MORE = " (of the mean face; fer-lightning landmarks downloads the network that finds each's own)"
HELP = "Each picture is taken whole, as one face; fer-lightning predict finds faces in pictures."
WHOLE = "Each picture was taken whole, as one face; fer-lightning predict finds faces in it."
SIZES = (16, 2048)  # pixels of an overlay's side


def overlay_names(names: Sequence[str]) -> dict[str, str]:
    """Name the overlays: the stem if no other file has it, else the whole path; always different.

    >>> overlay_names(["a.jpg", "x/b.png", "y/b.png"])
    {'a.jpg': 'a.png', 'x/b.png': 'x__b.png.png', 'y/b.png': 'y__b.png.png'}
    """
    stems = Counter(PurePosixPath(name).stem.casefold() for name in names)
    taken: set[str] = set()
    found = {}
    for name in names:
        stem = PurePosixPath(name).stem
        wanted = readable(stem if stems[stem.casefold()] == 1 else name.replace("/", "__"))
        wanted = wanted.encode()[:LONGEST].decode(errors="ignore")
        number, unique = 1, wanted
        while unique.casefold() in taken:  # some file systems do not tell A from a
            number += 1
            unique = f"{wanted}-{number}"
        taken.add(unique.casefold())
        found[name] = f"{unique}.png"
    return found


def readable(text: str) -> str:
    r"""Replace what cannot be printed or written as UTF-8.

    >>> readable("a\x1b[31m\udcff.png")
    'a?[31m?.png'
    """
    return "".join(c if c.isprintable() else "?" for c in text)


@dataclass
class Explained:
    """One entry per picture, in the order of reading."""

    rows: list[dict[str, str | int | float]] = field(default_factory=list)  # of the CSV file
    # (h, w) each, signed at the model's grid, or heat at each pixel
    maps: list[Tensor] = field(default_factory=list)
    target: list[Tensor] = field(default_factory=list)  # classes
    logits: list[Tensor] = field(default_factory=list)  # (K,) each
    skipped: list[Skipped] = field(default_factory=list)  # files that are no picture


def explain(
    net: VisionModel,
    pictures: Iterable[Picture | Skipped],
    classes: Sequence[str],
    save: Callable[[str, NDArray[np.uint8]], str],
    target: int | None = None,
    method: str = "grad_cam",
    masks: Literal["auto", "template", "none"] = "template",
) -> Explained:
    """Explain pictures one batch after another, so that few of them are held at once.

    Args:
        net: the model, in eval mode.
        pictures: as `read_each` gives them.
        classes: the names of its classes.
        save: takes a picture's name and its overlay, (S, S, 3) RGB, and returns the overlay's name.
        target: the class to explain, None for the predicted one.
        method: how.
        masks: "auto" measures focus with each face's own regions where these can be found,
            "template" with the fixed masks, "none" does not measure it.

    Raises:
        UserError: the model answers with NaN or infinity, or is too small for the masks.
    """
    found = Explained()
    device = next(net.parameters()).device
    for batch in _batches(pictures, found.skipped):
        images = to_float(torch.from_numpy(np.stack([p.seen for p in batch])).to(device))
        cam = look(net, images, target, method)
        heat = to_heat(cam.signed, images.shape[-1]).cpu()
        pixels = find_method(method).single_pixels
        drawn = [for_drawing(one, pixels) for one in heat]
        regions, words = masks_of(batch, masks)
        numbers = focus_numbers(heat, regions)
        chances = cam.logits.softmax(1)
        for i, picture in enumerate(batch):
            shown = picture.shown
            shown = shown if shown.ndim == 2 else shown.transpose(2, 0, 1)
            predicted, wanted = int(chances[i].argmax()), int(cam.target[i])
            found.rows.append(
                {
                    "file": readable(picture.name),
                    "overlay": save(
                        picture.name, draw_overlay(shown, drawn[i], len(picture.shown))
                    ),
                    "width": picture.width,
                    "height": picture.height,
                    **dict(zip(("crop_x", "crop_y", "crop_side"), picture.crop, strict=True)),
                    "predicted": classes[predicted],
                    "probability": chances[i, predicted].item(),
                    "target": classes[wanted],
                    "target_probability": chances[i, wanted].item(),
                    "zero_map": "yes" if is_zero(heat[i : i + 1]).item() else "no",
                    "masks": words[i],
                    **numbers[i],
                }
            )
        found.maps += cam.signed.cpu()
        found.target += cam.target.cpu()
        found.logits += cam.logits.cpu()
    return found


def look(net: VisionModel, images: Tensor, target: int | None, method: str) -> Cam:
    """Explain one batch by any method; maps stand in place of `signed`, signed if the method is.

    Raises:
        UserError: the model answers with NaN or infinity, or has no attention to show.

    >>> from fer_lightning.models import CNN
    >>> look(CNN().eval(), torch.rand(2, 1, 48, 48), 3, "occlusion").signed.shape
    torch.Size([2, 48, 48])
    """
    logits = answers(net, images, BATCH).to(images.device)
    if not logits.isfinite().all():
        raise UserError(
            "expected finite answers of the model but got NaN or infinity; its training failed, "
            "use another checkpoint"
        )
    chosen = choose(logits, target)
    return Cam(explainers.explain(net, images, chosen, method, BATCH), chosen, logits)


def masks_of(
    batch: Sequence[Picture], kind: Literal["auto", "template", "none"]
) -> tuple[Tensor | None, list[str]]:
    """Masks of pictures, (N, R, H, W) in the order of `FACE`, and where each one's come from.

    The face network is used where it is at hand; it is never downloaded here.
    """
    if kind == "none":
        return None, ["none"] * len(batch)
    size = (batch[0].seen.shape[1], batch[0].seen.shape[2])
    fixed = np.stack([template(size)[name] for name in FACE.order])
    masks = np.repeat(fixed[None], len(batch), axis=0)
    words = [TEMPLATE] * len(batch)
    for i, picture in enumerate(batch if kind == "auto" else ()):
        found = _own_regions(picture, size)
        if found is not None:
            masks[i], words[i] = found, LANDMARKS
    return torch.from_numpy(masks), words


def _own_regions(picture: Picture, size: tuple[int, int]) -> NDArray[np.bool_] | None:
    """(R, H, W), or None where the picture's face is not known and none can be found."""
    key = [image_key(picture.seen)]
    if shipped_landmarks().knows(key).any():
        (masks,), (good,) = shipped_landmarks().masks(key, size)
        return masks if good else None
    path = network_at_hand(FACE_MESH)
    if path is None:
        return None
    shown = picture.shown
    image = shown[None] if shown.ndim == 2 else shown.transpose(2, 0, 1)
    points, score = face_mesh.face_mesh(path)(image)
    if score <= face_mesh.FACE:
        return None
    scale = np.array([size[1] / image.shape[2], size[0] / image.shape[1]])
    base = face_masks((points * scale)[None], size)[0]
    return FACE.stack(dict(zip(FACE.base, base, strict=True))) if base.any((1, 2)).all() else None


def focus_numbers(heat: Tensor, masks: Tensor | None) -> list[dict[str, str | float]]:
    """Measure maps, (N, H, W): LFR of each region, LSI, background share.

    Args:
        heat: the maps.
        masks: (N, R, H, W) in the order of `FACE`, or None if nothing is measured.

    Returns:
        One dict a map with the keys of `FOCUS`; NaN for a zero map, empty if not measured.

    >>> fixed = torch.stack([torch.tensor(mask) for mask in template(48).values()])
    >>> round(focus_numbers(torch.ones(1, 48, 48), fixed[None])[0]["lfr_key"], 6)
    1.0
    """
    if masks is None:
        return [dict.fromkeys(FOCUS, "")] * len(heat)
    place = FACE.order.index
    lfr = local_focus_ratio(heat, masks[:, [place(name) for name in FACE.rows]])
    key = masks[:, [place(name) for name in FACE.members(FACE.primary)]]
    lsi = local_sensitivity_index(heat, key)
    outside = background_share(heat, masks[:, [place("face")]])
    table = torch.cat([lfr, lsi[:, None], outside], dim=1)
    return [dict(zip(FOCUS, row, strict=True)) for row in table.tolist()]


def _batches(
    pictures: Iterable[Picture | Skipped], skipped: list[Skipped]
) -> Iterator[list[Picture]]:
    """Give pictures by the batch and put the others aside."""
    reading = iter(pictures)
    while part := list(islice(reading, BATCH)):
        skipped += [one for one in part if isinstance(one, Skipped)]
        if batch := [one for one in part if isinstance(one, Picture)]:
            yield batch


def notes(
    args: argparse.Namespace, net: VisionModel, about: dict[str, Any], found: Explained
) -> dict[str, Any]:
    """Say where the numbers come from and how to read them."""
    with args.checkpoint.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    data, fingerprint = (readable(str(about.get(k)))[:200] for k in ("data", "fingerprint"))
    return {
        "written_by": "fer-lightning explain",
        "checkpoint": {"path": readable(str(args.checkpoint)), "sha256": digest},
        "model": describe(net),
        "trained_on": {"data": data, "fingerprint": fingerprint},
        "beware": substitutions(data, "online", "cuda"),
        "method": args.method,
        "target": "the predicted class" if args.target is None else found.rows[0]["target"],
        "maps": find_method(args.method).about,
        "overlays": f"heat blurred by {BLUR:.3f} of the side, for the eye only"
        if find_method(args.method).single_pixels
        else "heat as it was measured",
        "masks": MASKS[args.masks],
        "regions_from": dict(Counter(str(row["masks"]) for row in found.rows)),
        "pictures": HOW,
        "explained": len(found.rows),
        "zero_maps": sum(row["zero_map"] == "yes" for row in found.rows),
        "skipped": [{"file": readable(s.name), "reason": s.reason} for s in found.skipped],
        "versions": versions(),
    }


def view(found: Explained) -> Table:
    """Lay out the first pictures; the target is named where it is not always the predicted class.

    >>> row = {"file": "a.png", "predicted": "sad", "target": "sad", "probability": 0.5}
    >>> row |= {"zero_map": "yes", "lfr_key": "", "lsi": "", "background_share": ""}
    >>> [column.header for column in view(Explained(rows=[row])).columns]
    ['file', 'predicted', 'prob.', 'LFR of KEY', 'LSI', 'background']
    """
    targets = any(row["target"] != row["predicted"] for row in found.rows)
    table = Table("file")
    for column in ("predicted", "prob.", *["target"] * targets, "LFR of KEY", "LSI", "background"):
        is_name = column in ("predicted", "target")
        table.add_column(column, justify="left" if is_name else "right", no_wrap=True)
    table.columns[0].overflow = "fold"
    for row in found.rows[:SHOWN]:
        numbers = [row[name] for name in ("lfr_key", "lsi", "background_share")]
        shown = [f"{n:.3g}" if isinstance(n, float) else "-" for n in numbers]
        table.add_row(
            str(row["file"]),
            str(row["predicted"]),
            f"{row['probability']:.2f}",
            *[str(row["target"])] * targets,
            *(["zero map", "-", "-"] if row["zero_map"] == "yes" else shown),
        )
    return table


def tell(console: Console, args: argparse.Namespace, found: Explained) -> None:
    """Say what was left out and where everything lies."""
    explained, skipped = len(found.rows), len(found.skipped)
    zero = sum(row["zero_map"] == "yes" for row in found.rows)
    if explained > SHOWN:
        say(console, f"and {explained - SHOWN:,} more in explain.csv")
    say(console, f"explained {explained:,} of {explained + skipped:,} files by {args.method}")
    if zero:
        say(console, f"zero maps: {zero:,} (nothing speaks for the class, so nothing is drawn)")
    if skipped:
        named = [f"{readable(one.name)} ({one.reason})" for one in found.skipped[:NAMED]]
        rest = f", ... all in {NOTES}" if skipped > NAMED else ""
        say(console, f"skipped {skipped:,}: {', '.join(named)}{rest}")
    say(console, WHOLE)
    if args.masks == "auto":
        own = sum(row["masks"] == LANDMARKS for row in found.rows)
        more = MORE if explained > own and network_at_hand(FACE_MESH) is None else ""
        say(console, f"own regions: {own:,}; template masks: {explained - own:,}{more}")
    else:
        say(console, MASKS[args.masks])
    say(console, f"overlays, maps.npz, explain.csv and {NOTES} lie in {args.out}")


def parser() -> argparse.ArgumentParser:
    """Return the command's options."""
    options = Options(prog="fer-lightning explain", description=f"{__doc__} {HELP}")
    options.add_argument(
        "--checkpoint",
        type=Path,
        default="flagship",
        help=f"{TAKES} (flagship)",
    )
    options.add_argument("--images", type=Path, required=True, help="a picture, or a folder")
    options.add_argument("--out", type=Path, required=True, help="folder for the results")
    options.add_argument("--target", help="class to explain, by name or number (the predicted one)")
    options.add_argument(
        "--method", default="grad_cam", help=f"one of {', '.join(list_methods())} (grad_cam)"
    )
    options.add_argument("--size", type=int, default=224, help="side of an overlay in pixels (224)")
    options.add_argument(
        "--masks",
        choices=tuple(MASKS),
        help="auto (each face's own regions, or the template) for models of faces, none for others",
    )
    options.add_argument("--overwrite", action="store_true", help="replace an earlier result")
    return options


def main(argv: list[str]) -> int:
    """Explain pictures; write overlays, maps, a CSV file and notes, and print a table."""
    args = parser().parse_args(argv)
    args.method = find_method(args.method).name
    if not SIZES[0] <= args.size <= SIZES[1]:
        raise UserError(f"expected --size from {SIZES[0]} to {SIZES[1]} but got {args.size}")
    args.checkpoint = checkpoint_file(args.checkpoint)
    net, about = load_net(args.checkpoint)
    classes = class_names(net, about)
    if args.masks is None:
        args.masks = "auto" if {*classes} <= {*FERPLUS_CLASSES} else "none"
    target = None if args.target is None else find_class(args.target, classes)
    tree, names = list_pictures(args.images, leave_out=args.out)
    if args.images.resolve().is_relative_to(args.out.resolve()):
        raise UserError(
            f"expected --out apart from the pictures but {args.images} lies in {args.out}; "
            "choose another --out"
        )
    overlays = overlay_names(names)
    console = Screen()
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
        about_run = notes(args, net, about, found)
        write_json(folder / NOTES, about_run | {"files": [*files, NOTES]})
    for line in about_run["beware"]:
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
