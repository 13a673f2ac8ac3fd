"""The configs, studies and sweeps that come with the package, found by name from any folder.

A wheel carries them inside of the package; in a checkout they lie beside it.
"""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal

from fer_lightning.errors import UserError, nearest

Kind = Literal["config", "study", "sweep"]
KINDS: dict[Kind, str] = {"config": "configs", "study": "configs/study", "sweep": "sweeps"}
COMMANDS: dict[Kind, str] = {"config": "fit --config", "study": "study", "sweep": "sweep"}
SUFFIX = re.compile(r"\.ya?ml$")
CONFIG_OPTIONS = ("--config", "-c")
CONTENT = re.compile(r"[:{\n]")  # YAML itself in place of a file, which the parser takes as well


def root() -> Path:
    """Return the folder that holds ``configs`` and ``sweeps``."""
    package = Path(__file__).parent
    return package if (package / "configs").is_dir() else package.parent


def names(kind: Kind) -> dict[str, Path]:
    """Return what is shipped of a kind, by name.

    >>> "cifar/vit_tiny" in names("config"), "drawn_faces" in names("study")
    (True, True)
    """
    folder = root() / KINDS[kind]
    studies = root() / KINDS["study"]
    return {
        path.relative_to(folder).with_suffix("").as_posix(): path
        for path in sorted(folder.rglob("*.yaml"), key=lambda path: (len(path.parts), path))
        if kind == "study" or studies not in path.parents
    }


def find(given: str | Path, kind: Kind) -> Path:
    """Return the file that a user means; an existing file of the user's always wins.

    Args:
        given: a path, or the name of a shipped file: ``vit``, ``cifar/vit_tiny``, or as it lies in
            a checkout, ``configs/vit.yaml``.
        kind: what it shall be.

    Raises:
        UserError: neither a file nor the name of one.

    >>> find("cifar/vit_tiny", "config").name, find("study/drawn_faces", "study").name
    ('vit_tiny.yaml', 'drawn_faces.yaml')
    """
    if _is_there(Path(given)):
        return Path(given)
    shipped = names(kind)
    name = _name(given, kind)
    if name in shipped:
        return shipped[name]
    raise UserError(
        f"expected a {kind} file or the name of a shipped one but got '{given}'; "
        f"{_suggestion(given, kind)}"
    )


def find_any(given: str) -> Path:
    """Return a shipped file of any kind.

    Raises:
        UserError: nothing shipped has this name.

    >>> find_any("learning_rate") == find_any("sweeps/learning_rate.yaml")
    True
    """
    known: dict[str, Path] = {}
    for kind in KINDS:
        known |= names(kind)
        if _name(given, kind) in names(kind):
            return names(kind)[_name(given, kind)]
    raise UserError(
        f"expected the name of a shipped file but got '{given}'; {_nearest(given, known)}"
    )


def find_beside(folder: Path, given: str) -> Path:
    """Return the config that a file in `folder` names: relative to it, else a shipped one.

    >>> find_beside(Path("of-a-study"), "vit") == find("vit", "config")
    True
    >>> find_beside(Path("of-a-study"), "none.yaml").as_posix()  # for the caller to miss
    'of-a-study/none.yaml'
    """
    path = folder / given
    return path if _is_there(path) else names("config").get(_name(given, "config"), path)


def with_shipped_configs(argv: Sequence[str]) -> list[str]:
    """Write out the names of configs in options of ``fit`` and its like.

    >>> argv = with_shipped_configs(["fit", "--config", "vit", "--config=smoke", "--resume"])
    >>> [word.rpartition("/")[2] for word in argv]
    ['fit', '--config', 'vit.yaml', 'smoke.yaml', '--resume']
    """
    full = list(argv)
    for place, word in enumerate(argv):
        option, equals, given = word.partition("=")
        if option in CONFIG_OPTIONS and equals:
            full[place] = f"{option}={_config(given)}"
        elif place and argv[place - 1] in CONFIG_OPTIONS:
            full[place] = _config(word)
    return full


def about(path: Path) -> str:
    """Return the first sentence of the comment with which a shipped file begins.

    >>> about(find("smoke", "config"))
    'An overlay that makes any run take seconds: few drawn faces, two epochs.'
    """
    lines = []
    for line in path.read_text(encoding="utf-8").splitlines():
        if not line.startswith("# "):
            break
        lines.append(line.removeprefix("# "))
    return re.split(r"(?<=[.?!])\s", " ".join(lines), maxsplit=1)[0]


def _config(given: str) -> str:
    left_alone = not given or given.startswith("-") or CONTENT.search(given)
    return given if left_alone else str(find(given, "config"))


def _name(given: str | Path, kind: Kind) -> str:
    """Reduce a path in a checkout to a name."""
    name = SUFFIX.sub("", Path(given).as_posix()).removeprefix(f"{KINDS[kind]}/")
    return name.removeprefix("study/") if kind == "study" else name


def _suggestion(given: str | Path, kind: Kind) -> str:
    """Name the nearest of the kind, or the command for what the file is."""
    for other, command in COMMANDS.items():
        name = _name(given, other)
        if other != kind and name in names(other):
            return f"it is a {other}: fer-lightning {command} {name}"
    return _nearest(_name(given, kind), names(kind))


def _nearest(name: str, known: Iterable[str]) -> str:
    """Name the nearest; not all of them where none is near."""
    words = nearest(name, known)
    return words if words.startswith("did you") else "fer-lightning configs lists them"


def _is_there(path: Path) -> bool:
    """Whether a path can be read; a pipe can, too."""
    try:
        return path.exists() and not path.is_dir()
    except OSError:  # a name that is too long for one
        return False
