"""How ``explain`` tells what it found: notes for the folder, a table for the terminal."""

import argparse
import hashlib
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from fer_lightning.commands.explained import BLUR, BLURRED, TEMPLATE, Explained
from fer_lightning.commands.file_names import readable
from fer_lightning.data.pictures import HOW
from fer_lightning.models import VisionModel, describe
from fer_lightning.tracking.provenance import substitutions, versions
from fer_lightning.tracking.whole_folder import NOTES

SHOWN = 20  # rows on the terminal
NAMED = 10  # skipped files on the terminal
MASKS = {
    "template": f"{TEMPLATE}: regions of the mean face of FER-2013, the same for each picture; "
    "their numbers mean something only where one upright face fills the picture",
    "none": "no masks: focus was not measured",
}
CAM = "signed evidence for the target class at the model's own grid, before ReLU"
MAPS = {
    "grad_cam": CAM,
    "hires_cam": CAM,
    "attention_rollout": "attention at the model's own grid; it knows no class",
    "attention_relevance": "attention that speaks for the target class, at the model's own grid",
}


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
        "maps": MAPS.get(args.method, "heat for the target class at each pixel"),
        "overlays": f"heat blurred by {BLUR:.3f} of the side, for the eye only"
        if args.method in BLURRED
        else "heat as it was measured",
        "masks": MASKS[args.masks],
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
            escape(str(row["file"])),
            escape(str(row["predicted"])),
            f"{row['probability']:.2f}",
            *[escape(str(row["target"]))] * targets,
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
    say(console, MASKS[args.masks])
    say(console, f"overlays, maps.npz, explain.csv and {NOTES} lie in {args.out}")


def say(console: Console, text: str) -> None:
    """Print a line as it is: nothing coloured, cut or taken for markup."""
    console.print(text, highlight=False, soft_wrap=True, markup=False)
