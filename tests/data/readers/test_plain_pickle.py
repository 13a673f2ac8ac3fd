"""Hostile pickles: nothing runs, nothing grows, and one sentence says why."""

import os
import pickle
import struct
import time
import tracemalloc
from contextlib import suppress

import numpy as np
import pytest
from cifar_samples import FOLDER, batch, cifar_members, pixels, python2_array, python2_dict
from hypothesis import given, settings
from hypothesis import strategies as st
from reader_samples import tar_bytes

from fer_lightning.data.readers import plain_pickle, read
from fer_lightning.data.readers.plain_pickle import RefusedError, plain_values
from fer_lightning.errors import UserError


class Call:
    """Calls a function when unpickled."""

    def __init__(self, function, *arguments):
        self.call = function, arguments

    def __reduce__(self):
        return self.call


def traps(path):
    """Pickles that make a file when they are loaded as usual."""
    command = f"touch {path}"
    text = command.encode()
    size = struct.pack("<I", len(text))
    return {
        "os.system": pickle.dumps(Call(os.system, command), 2),
        "os.system-4": pickle.dumps(Call(os.system, command), 4),
        "os.system-0": pickle.dumps(Call(os.system, command), 0),
        "eval": pickle.dumps({b"data": Call(eval, f"open({str(path)!r}, 'w')")}, 2),
        "inst": b"(X" + size + text + b"ios\nsystem\n.",
        "obj": b"(cos\nsystem\nX" + size + text + b"o.",
        "newobj": b"\x80\x02cos\nsystem\nX" + size + text + b"\x85\x81.",
        "in-the-labels": python2_dict(labels=b"cos\nsystem\nX" + size + text + b"\x85R"),
        "stack-global": b"\x80\x04\x8c\x02os\x8c\x06systemX" + size + text + b"\x85R.",
    }


@pytest.mark.parametrize("name", traps("x"))
def test_nothing_is_executed(tmp_path, name):
    made = tmp_path / "made"
    trap = traps(made)[name]
    path = tmp_path / "cifar-10-python.tar.gz"
    path.write_bytes(tar_bytes(cifar_members() | {f"{FOLDER}/data_batch_3": trap}, "w:gz"))
    with pytest.raises(UserError, match=r"data_batch_3 .*nothing in it was executed"):
        read(path)
    assert not made.exists()


def test_the_traps_are_real(tmp_path):
    """What is refused above does make the file under Python's own reader."""
    for name in ("os.system", "eval", "inst", "in-the-labels"):
        made = tmp_path / name
        pickle.loads(traps(made)[name])
        assert made.exists()


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"cos\nsystem\n.", "asks for os.system"),
        (b"cnumpy\nload\n.", "asks for numpy.load"),
        (b"c__builtin__\ngetattr\n.", "asks for __builtin__.getattr"),
        (b"\x80\x04](h\x00\x94\x93.", "damaged"),
        (b"\x80\x04]]\x93.", "asks for something that has no name"),
        (b"cnumpy\nndarray\nK\x05\x85R.", "calls a function"),  # memory of any size
        (b"cnumpy.core.multiarray\n_reconstruct\ncos\nsystem\n.", "asks for os.system"),
        (b"Pfile\n.", "has the instruction PERSID"),
        (b"K\x01Q.", "has the instruction BINPERSID"),
        (b"\x82\x01.", "has the instruction EXT1"),
        (b"\x80\x05\x97.", "has the instruction NEXT_BUFFER"),
        (pickle.dumps(np.array([print], object), 2), "other things than bytes"),
        (pickle.dumps(np.zeros(3, np.int64), 2), "other things than bytes"),
        (pickle.dumps(np.zeros(3, [("a", "u1")]), 2), "other things than bytes"),
        (pickle.dumps({1, 2}, 2), "asks for __builtin__.set"),
        (python2_array(pixels(1)).replace(b"M\x00\x0c", b"M\x01\x0c") + b".", "does not fit"),
        (python2_array(pixels(1)).replace(b"M\x01\x00", b"J\xff\xff\xff\xff") + b".", "not fit"),
        (b"](e})b.", "no array of bytes"),
        (b"K\x01}b.", "no array of bytes"),
        (b"}(]K\x01u.", "keys are no names"),
        (b"}((K\x01K\x01tK\x01u.", "keys are no names"),
        (b"T\xff\xff\xff\x7fabc.", "damaged or cut off"),  # says that 2 GiB follow
        (b"N", "damaged or cut off"),
        (b"NN.", "damaged or cut off"),
        (b".", "damaged or cut off"),
        (b"t.", "damaged or cut off"),
        (b"h\x05.", "damaged or cut off"),
        (b"\xff.", "damaged or cut off"),
    ],
)
def test_refused(data, message):
    with pytest.raises(RefusedError, match=message):
        plain_values(data)


def doubled(levels, kind):
    """Lists (or tuples) of the same list twice, again and again: 2 to the power of `levels`."""
    if kind == "tuple":
        return b")q\x00" + b"h\x00\x86q\x00" * levels
    return b"](" * levels + b"]q\x00" + b"h\x00eq\x00" * levels


@pytest.mark.parametrize(
    "value",
    [
        doubled(200, "list"),
        doubled(200, "tuple"),
        b"]q\x00h\x00a",  # a list inside itself
        b"](" * 100_000 + b"e" * 100_000,  # nested deeper than Python's own stack
    ],
    ids=["lists", "tuples", "itself", "deep"],
)
def test_what_grows_when_it_is_followed_stays_small(tmp_path, value):
    content = python2_dict(labels=value, data=python2_array(pixels(2)))
    path = tmp_path / "a.tar"
    path.write_bytes(tar_bytes(cifar_members() | {f"{FOLDER}/test_batch": content}))
    began = time.monotonic()
    with pytest.raises(UserError, match="labels"):
        read(path)
    assert time.monotonic() - began < 10


def test_doubled_keys_are_refused_before_they_are_hashed():
    with pytest.raises(RefusedError, match="keys are no names"):
        plain_values(b"}(" + doubled(200, "tuple") + b"Nu.")


def test_one_text_is_not_encoded_many_times():
    text = b"X" + struct.pack("<I", 100_000) + b"a" * 100_000
    encode = b"c_codecs\nencode\nh\x00X\x06\x00\x00\x00latin1\x86R"
    bomb = b"](" + text + b"q\x00" + encode * 10_000 + b"e."
    tracemalloc.start()
    with pytest.raises(RefusedError, match="repeats one text many times"):
        plain_values(bomb)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20_000_000


def test_many_instructions(monkeypatch):
    monkeypatch.setattr(plain_pickle, "MAX_STEPS", 1000)
    with pytest.raises(RefusedError, match="more than 1,000 instructions"):
        plain_values(b"N" * 2000 + b".")


@settings(max_examples=200, derandomize=True, deadline=None, database=None)
@given(st.data())
def test_changed_bytes_give_plain_values_or_a_reason(data):
    """Whatever the bytes are, nothing else than `RefusedError` comes out."""
    source = bytearray(batch(1).replace(pixels(1).tobytes(), bytes(3072)))
    for _ in range(data.draw(st.integers(1, 5))):
        place = data.draw(st.integers(0, len(source) - 1))
        source[place] = data.draw(st.integers(0, 255))
    with suppress(RefusedError):
        plain_values(bytes(source))
