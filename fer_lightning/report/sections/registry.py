"""The sections of a report in their order, each registered in its own file."""

import warnings
from collections.abc import Callable, Iterable, Sequence
from importlib.metadata import entry_points
from typing import NamedTuple

from fer_lightning.errors import UserError
from fer_lightning.hypotheses import Verdict
from fer_lightning.report.content import Item, Section, Text
from fer_lightning.runs.collection import Collection

ENTRY_POINTS = "fer_lightning.sections"  # each names a function registered by `section`


class Material(NamedTuple):
    """What a section is made from."""

    runs: Collection  # finished runs, at least one
    faces: bool = True  # show faces, which may not be published with every data set
    verdicts: Sequence[Verdict] = ()
    not_judged: str = ""  # why there are no verdicts, if hypotheses could not be judged


Make = Callable[[Material], Iterable[Item]]


class Entry(NamedTuple):
    """A section's heading, what makes it, and its place among the others."""

    title: str
    make: Make
    place: float


SECTIONS: dict[str, Entry] = {}


def section(name: str, title: str, place: float) -> Callable[[Make], Make]:
    """Register a function that makes a section; every report then has it.

    Args:
        name: the anchor in the page.
        title: the heading.
        place: sections are ordered by it; those of the package stand at 10, 20, ... 120.

    Raises:
        UserError: the name is taken by another function.

    >>> @section("greeting", "Greeting", place=5)
    ... def greeting(material):
    ...     return [Text(f"{len(material.runs.runs)} runs say hello.")]
    >>> SECTIONS.pop("greeting").title
    'Greeting'
    """

    def register(make: Make) -> Make:
        taken = SECTIONS.get(name)
        if taken is not None and taken.make.__qualname__ != make.__qualname__:
            raise UserError(f"expected a new name of a section but '{name}' is taken; rename it")
        SECTIONS[name] = Entry(title, make, place)
        return make

    return register


def register_section(name: str, title: str, make: Make, place: float) -> None:
    """Register a section of another package; arguments as for `section`."""
    section(name, title, place)(make)


def make_sections(material: Material) -> tuple[Section, ...]:
    """Make all sections that have something to say; a damaged file costs the part that needs it.

    Tables may lack columns, and summaries hold other types: that is told in a warning, too.
    """
    for entry in entry_points(group=ENTRY_POINTS):
        if entry.name not in SECTIONS:
            entry.load()
    ordered = sorted(SECTIONS.items(), key=lambda item: item[1].place)
    made = (_made(name, entry, material) for name, entry in ordered)
    return tuple(section for section in made if section.items)


def _made(name: str, entry: Entry, material: Material) -> Section:
    try:
        items = tuple(entry.make(material))
    except UserError as error:
        items = (Text(f"This part is left out: {error}", "note"),)
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        why = f"the runs' files do not hold what it needs ({type(error).__name__}: {error})"
        warnings.warn(f"'{entry.title}' is left out of the report: {why}", stacklevel=2)
        items = (Text(f"This part is left out: {why}", "note"),)
    return Section(name, entry.title, items)
