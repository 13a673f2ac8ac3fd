"""``fer-lightning models``: every model with its size, cost, source and config."""

import argparse

import torch
from rich.console import Console
from rich.table import Table

from fer_lightning.errors import UserError
from fer_lightning.models import ENTRIES, build
from fer_lightning.models.cost import count_flops, count_parameters


def main(argv: list[str]) -> int:
    """List the models, built for the given images."""
    parser = argparse.ArgumentParser(prog="fer-lightning models", description=__doc__)
    own = "(default: each model's own)"
    parser.add_argument("--image-size", type=int, help=f"height and width in pixels {own}")
    parser.add_argument("--in-chans", type=int, help=f"channels: 1 grey, 3 colour {own}")
    parser.add_argument("--num-classes", type=int, help=f"number of classes {own}")
    args = parser.parse_args(argv)
    console = Console()
    console.print(model_table(args.num_classes, args.in_chans, args.image_size))
    console.print("train one: fer-lightning fit --config configs/vit.yaml")
    return 0


def model_table(
    num_classes: int | None = None, in_chans: int | None = None, image_size: int | None = None
) -> Table:
    """Return one row a model: name, images, parameters, MFLOPs, source, config.

    A model that cannot take such images says so in its row.

    >>> model_table().row_count == len(ENTRIES)
    True
    """
    given = {"num_classes": num_classes, "in_chans": in_chans, "image_size": image_size}
    given = {name: value for name, value in given.items() if value is not None}
    table = Table(caption="MFLOPs of one image, two per multiply-add")
    for column in ("model", "images", "classes", "parameters", "MFLOPs"):
        side = "left" if column in ("model", "images") else "right"
        table.add_column(column, justify=side, no_wrap=True)  # type: ignore[arg-type]
    for column in ("source", "config"):
        table.add_column(column)
    for name, entry in ENTRIES.items():
        try:
            with torch.device("meta"):  # nothing is drawn and nothing computed
                model = build(name, **given)
                cost = [f"{count_parameters(model):,}", f"{count_flops(model) / 1e6:,.1f}"]
        except UserError as error:
            table.add_row(name, "-", "-", "-", "-", str(error), f"configs/{entry.config}")
            continue
        size, chans = model.init_args["image_size"], model.init_args["in_chans"]
        table.add_row(
            name,
            f"{size}x{size}x{chans}",
            str(model.init_args["num_classes"]),
            *cost,
            entry.source,
            f"configs/{entry.config}",
        )
    return table
