"""A view of trainings on a terminal that changes while they run and stays when they end."""

from types import TracebackType
from typing import Self

from rich.console import Console, RenderableType
from rich.live import Live

STYLES = {"done": "green", "running": "bold cyan", "failed": "bold red", "half-done": "yellow"}
BETWEEN_LOOKS = 1.0  # seconds; each reads a few small files


def say(console: Console, text: str) -> None:
    """Print a line as it is: nothing coloured, cut or taken for markup."""
    console.print(text, highlight=False, soft_wrap=True, markup=False)


class LiveView:
    """Shows what `view` returns, where the console is a terminal."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.live = Live(console=console, auto_refresh=False, transient=True)
        self.looked = 0.0  # monotonic seconds of the last look

    def view(self) -> RenderableType:
        """What to show now; what a subclass is for."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        if self.console.is_terminal:
            self.live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.console.is_terminal:
            self.live.stop()
            self.console.print(self.view())
