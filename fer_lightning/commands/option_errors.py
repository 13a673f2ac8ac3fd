"""Complaints of jsonargparse about options, as one sentence: expected, got, what to do."""

import re
import sys
from collections.abc import Iterable
from inspect import signature

from fer_lightning.errors import nearest
from fer_lightning.models import VisionModel

UNKNOWN = re.compile(r"unrecognized arguments: (--[^\s=]+)")
VALUE = re.compile(r'Parser key "([^"]+)": Expected a (<class \S+>)\. Got value: (.*)')
VALUES = re.compile(
    r'Parser key "([^"]+)": Does not .*? Subtypes: \[(.*?)\] Errors: .* value: (.*)'
)
NO_CLASS = re.compile(r"given class_path '[^']+': module '([^']+)' has no attribute '([^']+)'")
NO_ARGUMENT = re.compile(r"given class_path '([^']+)\.([^'.]+)': Option '([^']+)' is not accepted")
NO_MODULE = re.compile(r"given class_path '[^']+': No module named '([^']+)'")
WORDS = {
    "float": "a number",
    "int": "a whole number",
    "jsonargparse.typing.PositiveInt": "a whole number above 0",
    "bool": "true or false",
    "str": "a text",
    "NoneType": "null",
}


def in_words(message: str, options: Iterable[str] = ()) -> str:
    r"""Write a complaint in words; one that is not known stays, in one line.

    Args:
        message: what jsonargparse says.
        options: that there are, for a hint at the one that was meant.

    >>> in_words("unrecognized arguments: --data.fractoin=0.3", ["--data.fraction"])
    "expected an option but got '--data.fractoin'; did you mean '--data.fraction'?"
    >>> in_words('Parser key "data.fraction": Expected a <class \'float\'>. Got value: abc')
    "expected a number for data.fraction but got 'abc'"
    """
    message = " ".join(message.split())
    if found := UNKNOWN.match(message):
        return f"expected an option but got '{found[1]}'; {_meant(found[1], options)}"
    if found := VALUE.match(message) or VALUES.match(message):
        return _value(*found.groups()) or message
    if found := NO_MODULE.search(message):
        return (
            f"expected {_wanted(message)} but there is no module {found[1]}; name one that lies in "
            "this folder or is installed"
        )
    if found := NO_CLASS.search(message):
        there = _there(*found.groups())
        return f"expected {_wanted(message)} but {found[1]} has no {found[2]}; {there}"
    if found := NO_ARGUMENT.search(message):
        module, name, option = found.groups()
        hint = nearest(option, _arguments(module, name))
        return f"expected an argument of {name} but got '{option}'; {hint}"
    return message


def _arguments(module: str, name: str) -> list[str]:
    return [*signature(getattr(sys.modules[module], name)).parameters]


def _meant(option: str, options: Iterable[str]) -> str:
    hint = nearest(option, options)
    return hint if hint.startswith("did") else "--help lists all"


def _value(key: str, types: str, given: str) -> str | None:
    names = re.findall(r"<class '([^']+)'>", types)
    kinds = [WORDS.get(name) for name in names] + re.findall(r"Literal\[([^]]+)\]", types)
    if None in kinds or len(kinds) != types.count(",") + 1:
        return None
    return f"expected {' or '.join(map(str, kinds))} for {key} but got '{given}'"


def _wanted(message: str) -> str:
    return "a model" if message.startswith('Parser key "model.net"') else "a class"


def _there(module: str, name: str) -> str:
    """Name the models of a module that has been imported."""
    inside = vars(sys.modules[module]).values() if module in sys.modules else ()
    models = [one for one in inside if isinstance(one, type) and issubclass(one, VisionModel)]
    own = [one.__name__ for one in models if one.__module__ == module]
    return nearest(name, own) if own else "name a class that it has"
