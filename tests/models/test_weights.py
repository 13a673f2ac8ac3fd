"""Files of weights, the good and the bad."""

import io
import pickle
import pickletools
import zipfile

import pytest
import torch
from safetensors.torch import save_file
from torch import nn

from fer_lightning.errors import UserError
from fer_lightning.models import CNN, ViT, load_weights, read_weights, strip_prefixes


class Evil:
    """Writes a file when unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (open, (str(self.path), "w"))


@pytest.fixture
def state():
    return nn.Linear(3, 2).state_dict()


def test_both_formats(tmp_path, state):
    torch.save(state, tmp_path / "a.pt")
    save_file(state, tmp_path / "a.safetensors")
    for name in ("a.pt", "a.safetensors"):
        read = read_weights(tmp_path / name)
        assert read.keys() == state.keys()
        assert all(torch.equal(read[key], state[key]) for key in state)


@pytest.mark.parametrize("writer", ["torch", "pickle"])
def test_no_code_is_executed(tmp_path, writer):
    trap, path = tmp_path / "trap", tmp_path / "evil.pt"
    if writer == "torch":
        torch.save({"state_dict": Evil(trap)}, path)
    else:
        path.write_bytes(pickle.dumps({"state_dict": Evil(trap)}, protocol=2))
    with pytest.raises(UserError, match="could execute code"):
        read_weights(path)
    assert not trap.exists()


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.pt", b"", "damaged"),
        ("a.pt", b"PK\x03\x04 cut off", "damaged"),
        ("a.pt", b"version https://git-lfs.github.com/spec/v1\n", "no torch checkpoint|damaged"),
        ("a.safetensors", b"", "expected a safetensors file"),
        ("a.safetensors", b"\xff" * 64, "expected a safetensors file"),
    ],
)
def test_damaged_files(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(UserError, match=message):
        read_weights(tmp_path / name)


def test_truncated_checkpoint(tmp_path):
    torch.save(CNN(feature_width=8).state_dict(), tmp_path / "a.pt")
    whole = (tmp_path / "a.pt").read_bytes()
    (tmp_path / "a.pt").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(UserError, match="damaged"):
        read_weights(tmp_path / "a.pt")


@pytest.mark.parametrize("content", [[1, 2], {}, {"a": 3}, {1: torch.zeros(1)}, torch.zeros(2)])
def test_no_named_weights(tmp_path, content):
    torch.save(content, tmp_path / "a.pt")
    with pytest.raises(UserError, match="expected named weights"):
        read_weights(tmp_path / "a.pt")


def test_missing_file_and_folder(tmp_path):
    for path in (tmp_path / "none.pt", tmp_path):
        with pytest.raises(UserError, match="there is none at"):
            read_weights(path)


def test_prefixes():
    value = torch.zeros(1)
    assert strip_prefixes({"module._orig_mod.a": value, "module.b": value}).keys() == {"a", "b"}
    assert strip_prefixes({"stem._orig_mod.a": value}).keys() == {"stem.a"}
    # a part of the model that is really called so stays
    assert strip_prefixes({"module.a": value, "b": value}).keys() == {"module.a", "b"}
    assert strip_prefixes({}) == {}


def test_weights_of_another_model():
    model = ViT(depth=1)
    before = model.head.weight.clone()
    with pytest.raises(UserError, match=r"weights of ViT but x\.ckpt differs: \d+ missing \(cls"):
        load_weights(model, CNN().state_dict(), "x.ckpt")
    with pytest.raises(UserError, match=r"2 of another shape \(head\.weight: \[9, 128\], not \[7"):
        load_weights(model, ViT(num_classes=9, depth=1).state_dict(), "x.ckpt")
    assert torch.equal(model.head.weight, before)


def rewritten(path, change, compression=zipfile.ZIP_STORED):
    """A torch file whose data.pkl was changed."""
    with zipfile.ZipFile(path) as archive:
        content = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, data in content.items():
            archive.writestr(name, change(data) if name.endswith("data.pkl") else data)


NUMBER = b"J\x00\x00\x00\x04"  # 64 Mi


@pytest.mark.parametrize(
    "call",
    [
        b"cbuiltins\nbytearray\n",
        b"c__builtin__\nbytearray\n",
        b"ctorch\nFloatTensor\n",
        b"ctorch\nTensor\n",
        b"ctorch.storage\nUntypedStorage\n",
    ],
)
def test_a_file_cannot_ask_for_memory_by_a_number(tmp_path, state, call):
    path = tmp_path / "a.pt"
    torch.save(state, path)
    rewritten(path, lambda _: b"\x80\x02}X\x01\0\0\0a" + call + NUMBER + b"\x85Rs.")
    with pytest.raises(UserError, match="holds other objects"):
        read_weights(path)


HOSTILE = b"\x80\x02cbuiltins\nbytearray\n" + NUMBER + b"\x85R."


def archive(**members):
    """A torch file as `zipfile` writes it."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as written:
        for name, data in {**members, "version": b"3\n", "byteorder": b"little"}.items():
            written.writestr(f"archive/{name.replace('_', '.')}", data)
    return file.getvalue()


def after_pickles(data, number):
    """Cut off the first pickles of a file of before torch 1.6, one after the other."""
    file = io.BytesIO(data)
    for _ in range(number):
        list(pickletools.genops(file))
    return file.tell()


def fifth_pickle(old):
    """Ask for memory where the format before torch 1.6 keeps the names of its storages."""
    start, end = after_pickles(old, 4), after_pickles(old, 5)
    return old[:start] + HOSTILE + old[end:]


def cut_pickle(old):
    """End inside of a number there, where torch fails in a way of its own."""
    return old[: after_pickles(old, 4)] + b"\x80\x02X\xff"


def two_formats(old):
    """A file that is an archive for Python, and one of before torch 1.6 for torch."""
    return HOSTILE + archive(data_pkl=b"\x80\x02}.")


def two_lists(old):
    """Python reads the list of members before the end, torch the one that a number points to."""
    bad, good = archive(data_pkl=HOSTILE), archive(data_pkl=b"\x80\x02}.".ljust(len(HOSTILE)))
    return bad[:-22] + good


def capitals(old):
    return archive(DATA_PKL=HOSTILE)


@pytest.mark.parametrize("write", [fifth_pickle, cut_pickle, two_formats, two_lists, capitals])
def test_a_number_cannot_hide(tmp_path, state, write, monkeypatch):
    path = tmp_path / "a.pt"
    torch.save(state, path, _use_new_zipfile_serialization=False)
    path.write_bytes(write(path.read_bytes()))
    monkeypatch.setattr(torch, "load", lambda *args, **kwargs: pytest.fail("torch would take it"))
    with pytest.raises(UserError, match=r"holds other objects|damaged or of another kind"):
        read_weights(path)


def test_every_archive_that_torch_or_python_writes_is_read(tmp_path, state):
    path = tmp_path / "a.pt"
    torch.save(state, path)
    assert read_weights(path).keys() == state.keys()
    rewritten(path, bytes)
    assert read_weights(path).keys() == state.keys()
    path.write_bytes(path.read_bytes() + b"\0")
    with pytest.raises(UserError, match="damaged or of another kind"):
        read_weights(path)


def test_a_small_storage_cannot_become_a_large_tensor(tmp_path):
    torch.save({"a": torch.zeros(1).expand(1 << 28)}, tmp_path / "a.pt")
    with pytest.raises(UserError, match="damaged or of another kind"):
        read_weights(tmp_path / "a.pt")


def test_a_compressed_file_is_not_unpacked(tmp_path):
    path = tmp_path / "a.pt"
    torch.save({"a": torch.zeros(1 << 20)}, path)
    rewritten(path, bytes, zipfile.ZIP_DEFLATED)
    assert path.stat().st_size < 1 << 16
    with pytest.raises(UserError, match="damaged or of another kind"):
        read_weights(path)


def test_the_format_before_torch_1_6(tmp_path, state):
    path = tmp_path / "a.pt"
    torch.save(state, path, _use_new_zipfile_serialization=False)
    read = read_weights(path)
    assert all(torch.equal(read[key], state[key]) for key in state)
    six = b"K\x06N"  # elements of the weight, then no view of it
    assert path.read_bytes().count(six) == 1
    path.write_bytes(path.read_bytes().replace(six, NUMBER + b"N"))
    with pytest.raises(UserError, match="damaged or of another kind"):
        read_weights(path)
