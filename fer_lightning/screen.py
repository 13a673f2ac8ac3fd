"""The terminal: names of classes, runs and files appear there as they are and do nothing."""

from collections.abc import Iterable
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

from fer_lightning.errors import visible


def counted(number: int, noun: str) -> str:
    """Write a number of things.

    >>> counted(1, "epoch"), counted(2000, "epoch")
    ('1 epoch', '2,000 epochs')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def say(console: Console, text: str) -> None:
    """Print a line as it is: nothing coloured, cut or taken for markup.

    A terminal gets lines between words; a file or a pipe gets it whole.
    """
    console.print(text, highlight=False, soft_wrap=not console.is_terminal, markup=False)


class Screen(Console):
    """A console on which text is never taken for markup, and control characters are visible.

    What is styled is said by `rich.text.Text` and columns. Options are those of Rich's console.

    >>> Screen(width=40).print("[/red] is a class")
    [/red] is a class
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"markup": False, "emoji": False, **options})

    def render_str(self, text: str, **options: Any) -> Text:
        """Make text safe before its width is measured."""
        return super().render_str(visible(text), **options)

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """Make what is drawn safe, whatever it was made of."""
        for segment in super().render(renderable, options):
            if segment.control or segment.text.isprintable():
                yield segment
            else:
                yield Segment(visible(segment.text), segment.style)
