"""``fer-lightning configs``: the shipped configs, studies and sweeps, by name."""

import sys

from rich.console import Group
from rich.table import Table
from rich.text import Text

from fer_lightning.commands.options import Options
from fer_lightning.screen import Screen
from fer_lightning.shipped import COMMANDS, KINDS, Kind, about, find_any, names

TITLES: dict[Kind, str] = {
    "config": "Configs of models, and overlays for them",
    "study": "Studies",
    "sweep": "Sweeps",
}


def main(argv: list[str]) -> int:
    """List what is shipped, or print one file."""
    parser = Options(prog="fer-lightning configs", description=__doc__)
    parser.add_argument("name", nargs="?", help="print this file, to start one of your own from")
    parser.add_argument("--path", action="store_true", help="print where the file lies instead")
    args = parser.parse_args(argv)
    if args.name is None:
        Screen().print(shipped_list())
        return 0
    path = find_any(args.name)
    sys.stdout.write(f"{path}\n" if args.path else path.read_text(encoding="utf-8"))
    return 0


def shipped_list() -> Group:
    """Return one table per kind below the command that takes its names.

    >>> len(shipped_list().renderables) == 2 * len(KINDS)
    True
    """
    parts: list[Text | Table] = []
    width = max(len(name) for kind in KINDS for name in names(kind))
    for kind, command in COMMANDS.items():
        title = Text(f"\n{TITLES[kind]}: ", style="bold")
        parts.append(title.append(f"fer-lightning {command} NAME", style="not bold cyan"))
        table = Table(box=None, show_header=False, padding=(0, 1, 0, 0))
        table.add_column("name", width=width, no_wrap=True, style="green")
        table.add_column("about", overflow="fold")
        for name, path in names(kind).items():
            table.add_row(name, Text(about(path)))
        parts.append(table)
    return Group(*parts)
