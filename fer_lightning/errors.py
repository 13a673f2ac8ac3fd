"""The one exception for mistakes a user can mend."""

import difflib
from collections.abc import Iterable


class UserError(ValueError):
    """A mistake of the user's, told in one sentence: expected, got, what to do.

    The command line prints the sentence without a traceback and ends with exit code 2.
    """


class Diverged(UserError):  # noqa: N818 (a state of the model)
    """The model's answers are no numbers any more."""


def nearest(word: str, known: Iterable[str]) -> str:
    """Suggest the known word nearest to a mistyped one, as the end of an error message.

    >>> nearest("vti", ["cnn", "vit", "swin"])
    "did you mean 'vit'?"
    >>> nearest("xyz", ["cnn", "vit"])
    'choose one of cnn, vit'
    """
    known = list(known)
    close = difflib.get_close_matches(word, known, n=1)
    return f"did you mean '{close[0]}'?" if close else f"choose one of {', '.join(known)}"
