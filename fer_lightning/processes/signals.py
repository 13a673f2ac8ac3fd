"""Being asked to stop: noted, and answered when everything that was begun can go on later."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
INTERRUPTED, TERMINATED = 130, 143  # exit codes of a training after Ctrl-C and SIGTERM


class Stopped(Exception):  # noqa: N818 (not an error)
    """The user asked to stop; everything that was begun can go on."""


@contextmanager
def asked_to_stop() -> Iterator[list[int]]:
    """Note signals instead of ending; give the list of those that came.

    >>> with asked_to_stop() as asked:
    ...     signal.raise_signal(signal.SIGTERM)
    ...     len(asked)
    1
    """
    asked: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        asked.append(number)

    before = {number: signal.signal(number, note) for number in SIGNALS}
    try:
        yield asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
