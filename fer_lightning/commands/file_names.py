"""Names of result files, made from names of a user's files."""

from collections import Counter
from collections.abc import Sequence
from pathlib import PurePosixPath

LONGEST = 180  # bytes of a name without its ending; file systems allow 255 with everything


def overlay_names(names: Sequence[str]) -> dict[str, str]:
    """Name the overlays: the stem if no other file has it, else the whole path; always different.

    >>> overlay_names(["a.jpg", "x/b.png", "y/b.png"])
    {'a.jpg': 'a.png', 'x/b.png': 'x__b.png.png', 'y/b.png': 'y__b.png.png'}
    """
    stems = Counter(PurePosixPath(name).stem.casefold() for name in names)
    taken: set[str] = set()
    found = {}
    for name in names:
        stem = PurePosixPath(name).stem
        wanted = readable(stem if stems[stem.casefold()] == 1 else name.replace("/", "__"))
        wanted = wanted.encode()[:LONGEST].decode(errors="ignore")
        number, unique = 1, wanted
        while unique.casefold() in taken:  # some file systems do not tell A from a
            number += 1
            unique = f"{wanted}-{number}"
        taken.add(unique.casefold())
        found[name] = f"{unique}.png"
    return found


def readable(text: str) -> str:
    r"""Replace what cannot be printed or written as UTF-8.

    >>> readable("a\x1b[31m\udcff.png")
    'a?[31m?.png'
    """
    return "".join(c if c.isprintable() else "?" for c in text)
