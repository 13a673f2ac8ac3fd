"""``fer-lightning models``: every model with its size, cost, source and config."""

import torch
from rich.console import Group
from rich.table import Table
from rich.text import Text

from fer_lightning.commands.options import Options
from fer_lightning.errors import UserError
from fer_lightning.models import MODELS, create_model, list_models
from fer_lightning.models.cost import count_flops, count_parameters
from fer_lightning.screen import Screen


def main(argv: list[str]) -> int:
    """List the models, built for the given images."""
    parser = Options(prog="fer-lightning models", description=__doc__)
    own = "(default: each model's own)"
    parser.add_argument("--image-size", type=int, help=f"height and width in pixels {own}")
    parser.add_argument("--in-chans", type=int, help=f"channels: 1 grey, 3 colour {own}")
    parser.add_argument("--num-classes", type=int, help=f"number of classes {own}")
    args = parser.parse_args(argv)
    console = Screen()
    console.print(model_list(args.num_classes, args.in_chans, args.image_size))
    console.print("MFLOPs of one image, two per multiply-add")
    console.print("train one: fer-lightning fit --config configs/vit.yaml")
    return 0


def model_list(
    num_classes: int | None = None, in_chans: int | None = None, image_size: int | None = None
) -> Group:
    """Return the models of each source below its name; those that cannot take such images say so.

    >>> len(model_list().renderables) == 2 * len({entry.source for entry in MODELS.values()})
    True
    """
    given = {"num_classes": num_classes, "in_chans": in_chans, "image_size": image_size}
    sizes = {name: value for name, value in given.items() if value is not None}
    tables: dict[str, Table] = {}
    for name in list_models():
        entry = MODELS[name]
        table = tables.setdefault(entry.source, _empty(header=not tables))
        try:
            table.add_row(name, *_facts(name, sizes), entry.config)
        except UserError as error:
            table.add_row(name, *"----", f"{entry.config}: {error}")
    pairs = ((Text(f"\n{source}", style="bold"), table) for source, table in tables.items())
    return Group(*(part for pair in pairs for part in pair))


def _empty(header: bool) -> Table:
    """Return a table without rows; all of them are alike and fit into 80 characters."""
    table = Table(box=None, show_header=header, padding=(0, 1, 0, 0))
    table.add_column("model", width=12, no_wrap=True)
    for column, width in (("images", 9), ("classes", 7), ("parameters", 10), ("MFLOPs", 8)):
        table.add_column(column, width=width, justify="right")
    table.add_column("in configs/", overflow="fold")
    return table


def _facts(name: str, sizes: dict[str, int]) -> list[str]:
    """Return images, classes, parameters and MFLOPs of a model; nothing is drawn or computed."""
    with torch.device("meta"):
        model = create_model(name, **sizes)
        cost = [f"{count_parameters(model):,}", f"{count_flops(model) / 1e6:,.1f}"]
    size, chans = model.init_args["image_size"], model.init_args["in_chans"]
    return [f"{size}x{size}x{chans}", str(model.init_args["num_classes"]), *cost]
