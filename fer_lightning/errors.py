"""The one exception for mistakes a user can mend."""

import difflib
import unicodedata
from collections.abc import Iterable

TURNING = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"  # letters right to left


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


def visible(text: str) -> str:
    r"""Make a text safe for the terminal: what moves the cursor or turns letters around is written.

    >>> visible("a\x1b[31mb"), visible("cafe\n"), visible("\u202efdp.exe"), visible("\udcff")
    ('a\\x1b[31mb', 'cafe\n', '\\u202efdp.exe', '\\udcff')
    """
    if text.isprintable():
        return text
    return "".join(
        letter.encode("unicode_escape").decode()
        if letter in TURNING
        or (letter not in "\n\t" and unicodedata.category(letter) in ("Cc", "Cs"))
        else letter
        for letter in text
    )
