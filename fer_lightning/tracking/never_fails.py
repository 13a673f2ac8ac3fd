"""A tracker's failure ends the tracking, never the training."""

import functools
from collections.abc import Callable
from typing import Any, Protocol

from lightning.pytorch.utilities import rank_zero_warn


class CanFail(Protocol):
    """What remembers its first failure."""

    failure: str | None


def never_fails(what: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Let a method warn once, after the first failure of its object, and then do nothing.

    Args:
        what: name of the tracker in the warning.

    >>> class Broken:
    ...     failure = None
    ...     @never_fails("The page")
    ...     def write(self):
    ...         raise OSError("no room")
    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as told:
    ...     warnings.simplefilter("always")
    ...     page = Broken()
    ...     page.write(), page.write(), len(told), page.failure
    (None, None, 1, 'OSError: no room')
    """

    def decorate(method: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(method)
        def guarded(self: CanFail, *args: Any, **kwargs: Any) -> Any:
            if self.failure is not None:
                return None
            try:
                return method(self, *args, **kwargs)
            except Exception as error:  # whatever it raises, training goes on
                self.failure = f"{type(error).__name__}: {error}"
                rank_zero_warn(
                    f"{what} failed in {method.__name__} and is off for the rest of this run "
                    f"({self.failure}). Training goes on; everything is in the run folder."
                )
                return None

        return guarded

    return decorate
