"""The values in a pickle, read without unpickling it: nothing in the file can run.

Python's own reader calls whatever functions a pickle names. Here the file's instructions are
looked at one by one (`pickletools.genops` only takes them apart) and followed if they build plain
values or arrays of bytes; names in it are compared with the few that such arrays need, never
imported or called. Anything else is refused.
"""

import io
import math
import pickletools
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

MAX_STEPS = 1_000_000  # instructions of one file; a batch of CIFAR-10 has about 50,000
MAX_DIMENSIONS = 4


class RefusedError(Exception):
    """The pickle holds more than plain values, or is damaged; the text says what it does."""


@dataclass(frozen=True)
class _Name:
    """The name of something to import, which is not imported."""

    module: str
    name: str


@dataclass
class _Array:
    values: NDArray[np.uint8] | None = None


@dataclass(frozen=True)
class _Bytes:
    """The element type of one byte, the only one there is."""


_NDARRAY, _DTYPE = _Name("numpy", "ndarray"), _Name("numpy", "dtype")
_MAKERS = tuple(_Name(f"numpy.{core}.multiarray", "_reconstruct") for core in ("core", "_core"))
_ENCODE = _Name("_codecs", "encode")  # how Python 3 writes bytes in Python 2's protocol
_KNOWN = (_NDARRAY, _DTYPE, _ENCODE, *_MAKERS)
_EMPTY: dict[str, type] = {"EMPTY_TUPLE": tuple, "EMPTY_LIST": list, "EMPTY_DICT": dict}


def plain_values(data: bytes) -> object:
    """Return what a pickle holds: None, numbers, text, bytes, lists, tuples, dicts, byte arrays.

    Text of Python 2 comes as bytes, the keys of dicts too.

    Raises:
        RefusedError: when there is anything else in it.

    >>> import pickle
    >>> plain_values(pickle.dumps({"labels": [3, 5]}, protocol=2))
    {'labels': [3, 5]}
    >>> plain_values(pickle.dumps(print, protocol=2))
    Traceback (most recent call last):
    fer_lightning.data.readers.plain_pickle.RefusedError: asks for __builtin__.print
    """
    machine = _Machine(len(data))
    try:
        for step, (opcode, argument, _) in enumerate(pickletools.genops(io.BytesIO(data))):
            if step >= MAX_STEPS:
                raise RefusedError(f"has more than {MAX_STEPS:,} instructions")
            machine.follow(opcode.name, argument)
        (value,) = machine.stack
    except (ValueError, IndexError, KeyError, OverflowError) as error:  # cut off or overwritten
        raise RefusedError("is damaged or cut off") from error
    return value.values if isinstance(value, _Array) else value


class _Machine:
    """Follows instructions; every value lies on a stack, a mark begins a new one."""

    def __init__(self, budget: int) -> None:
        self.stack: list[Any] = []
        self.below: list[list[Any]] = []  # the stacks before each mark
        self.memo: dict[int, Any] = {}
        self.budget = budget  # bytes of text that may become bytes, or one text could be many times

    def follow(self, opcode: str, argument: Any) -> None:
        """Follow one instruction or refuse it."""
        stack = self.stack
        match opcode:
            case "PROTO" | "FRAME" | "STOP":
                pass
            case "NONE":
                stack.append(None)
            case "NEWTRUE" | "NEWFALSE":
                stack.append(opcode == "NEWTRUE")
            case "BININT" | "BININT1" | "BININT2" | "LONG1" | "BINFLOAT" | "BINUNICODE":
                stack.append(argument)
            case "SHORT_BINUNICODE" | "BINBYTES" | "SHORT_BINBYTES":
                stack.append(argument)
            case "BINSTRING" | "SHORT_BINSTRING":
                stack.append(argument.encode("latin-1"))
            case "EMPTY_TUPLE" | "EMPTY_LIST" | "EMPTY_DICT":
                stack.append(_EMPTY[opcode]())
            case "MARK":
                self.below.append(stack)
                self.stack = []
            case "TUPLE":
                items = self._marked()  # first: it changes the stack
                self.stack.append(tuple(items))
            case "TUPLE1" | "TUPLE2" | "TUPLE3":
                stack.append(tuple(self._take(int(opcode[-1]))))
            case "APPEND" | "APPENDS":
                items = self._marked() if opcode == "APPENDS" else self._take(1)
                self._top(list).extend(items)
            case "SETITEM" | "SETITEMS":
                items = self._marked() if opcode == "SETITEMS" else self._take(2)
                self._set(items)
            case "BINPUT" | "LONG_BINPUT":
                self.memo[argument] = stack[-1]
            case "MEMOIZE":
                self.memo[len(self.memo)] = stack[-1]
            case "BINGET" | "LONG_BINGET":
                stack.append(self.memo[argument])
            case "GLOBAL":
                stack.append(_known(*argument.split(" ", 1)))
            case "STACK_GLOBAL":
                stack.append(_known(*self._take(2)))
            case "REDUCE":
                function, arguments = self._take(2)
                stack.append(self._made(function, arguments))
            case "BUILD":
                (state,) = self._take(1)
                _fill(stack[-1], state)
            case _:
                raise RefusedError(f"has the instruction {opcode}")

    def _take(self, count: int) -> list[Any]:
        if len(self.stack) < count:
            raise IndexError("too few values")
        taken = self.stack[-count:]
        del self.stack[-count:]
        return taken

    def _marked(self) -> list[Any]:
        items, self.stack = self.stack, self.below.pop()
        return items

    def _top(self, kind: type) -> Any:
        if type(self.stack[-1]) is not kind:
            raise ValueError("a value of another kind")
        return self.stack[-1]

    def _set(self, items: list[Any]) -> None:
        keys = items[::2]
        # nothing nested: a tuple of tuples of the same tuple takes forever to hash
        if any(type(key) not in (bytes, str, int) for key in keys):
            raise RefusedError("has a dict whose keys are no names")
        values = (v.values if isinstance(v, _Array) else v for v in items[1::2])
        self._top(dict).update(zip(keys, values, strict=True))

    def _made(self, function: Any, arguments: Any) -> Any:
        """Return what one of the known functions would make of its arguments; none is called."""
        match function, arguments:
            case _Name(), (_Name() as kind, *_) if function in _MAKERS and kind == _NDARRAY:
                return _Array()
            case _Name(), ("u1" | b"u1", *_) if function == _DTYPE:
                return _Bytes()
            case _Name(), (str(text), "latin1" | b"latin1") if function == _ENCODE:
                self.budget -= len(text)
                if self.budget < 0:
                    raise RefusedError("repeats one text many times")
                return text.encode("latin-1")
        if function == _DTYPE:
            raise RefusedError("has an array of other things than bytes")
        raise RefusedError("calls a function")


def _known(module: Any, name: Any) -> _Name:
    if not isinstance(module, str) or not isinstance(name, str):
        raise RefusedError("asks for something that has no name")
    if (found := _Name(module, name)) not in _KNOWN:
        raise RefusedError(f"asks for {module[:40]}.{name[:40]}")
    return found


def _fill(value: Any, state: Any) -> None:
    """Give an array its shape and bytes; an element type of one byte has nothing to add."""
    match value, state:
        case _Bytes(), tuple():
            return
        case _Array(), (1, tuple(shape), _Bytes(), 0, bytes(data)):  # 0: not in Fortran's order
            is_shape = len(shape) <= MAX_DIMENSIONS and all(type(n) is int for n in shape)
            if not is_shape or min(shape, default=0) < 0 or math.prod(shape) != len(data):
                raise RefusedError("has an array whose shape does not fit its bytes")
            value.values = np.frombuffer(data, np.uint8).reshape(shape)
            return
    raise RefusedError("has an object that is no array of bytes")
