"""``fer-lightning models``: every model with its size, cost, source and config."""

import argparse

from rich.console import Console
from rich.table import Table

from fer_lightning.errors import UserError
from fer_lightning.models import ENTRIES, build
from fer_lightning.models.cost import count_flops, count_parameters


def main(argv: list[str]) -> int:
    """List the models, built for the given images."""
    parser = argparse.ArgumentParser(prog="fer-lightning models", description=__doc__)
    parser.add_argument("--image-size", type=int, default=48, help="height and width in pixels")
    parser.add_argument("--in-chans", type=int, default=1, help="channels: 1 grey, 3 colour")
    parser.add_argument("--num-classes", type=int, default=7, help="number of classes")
    args = parser.parse_args(argv)
    console = Console()
    console.print(model_table(args.num_classes, args.in_chans, args.image_size))
    console.print("train one: fer-lightning fit --config configs/vit.yaml")
    return 0


def model_table(num_classes: int = 7, in_chans: int = 1, image_size: int = 48) -> Table:
    """Return one row a model: name, parameters, MFLOPs, source, config.

    A model that cannot take such images says so in its row.

    >>> model_table().row_count == len(ENTRIES)
    True
    """
    table = Table(
        title=f"{image_size}x{image_size}x{in_chans}, {num_classes} classes",
        caption="MFLOPs of one image, two per multiply-add",
    )
    for column in ("model", "parameters", "MFLOPs", "source", "config"):
        table.add_column(column, justify="right" if column in ("parameters", "MFLOPs") else "left")
    for name, entry in ENTRIES.items():
        try:
            model = build(name, num_classes=num_classes, in_chans=in_chans, image_size=image_size)
        except UserError as error:
            cost = ["-", "-"]
            source = str(error)
        else:
            cost = [f"{count_parameters(model):,}", f"{count_flops(model) / 1e6:.1f}"]
            source = entry.source
        table.add_row(name, *cost, source, f"configs/{entry.config}")
    return table
