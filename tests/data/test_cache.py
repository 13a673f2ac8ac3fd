import errno
import json
import os
import pickle
import subprocess
import sys
import warnings

import numpy as np
import pytest
from reader_samples import csv_text, faces, fer_members, write_folder

from fer_lightning.data import cache
from fer_lightning.data import cache as cache_entry
from fer_lightning.data.cache import load
from fer_lightning.data.readers import read
from fer_lightning.errors import UserError


@pytest.fixture
def source(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    path = tmp_path / "data" / "fer2013.csv"
    path.parent.mkdir()
    path.write_text(csv_text(8))
    return path


@pytest.fixture
def reads(monkeypatch):
    """Return the list of paths that were really read."""
    calls = []

    def counted(path, **options):
        calls.append(path)
        return read(path, **options)

    monkeypatch.setattr(cache, "read", counted)
    return calls


def entries(folder):
    return sorted(p for p in folder.iterdir() if p.is_dir())


def test_the_second_start_reads_nothing_and_gives_the_same(source, reads):
    plain = read(source)
    first, second = load(source), load(source)
    assert len(reads) == 1
    for found in (first, second):
        assert isinstance(found.images, np.memmap)
        assert not found.images.flags.writeable
        assert found.known_fingerprint == plain.fingerprint
        for name in ("images", "labels", "usage", "files"):
            assert np.array_equal(getattr(found, name), getattr(plain, name))
        assert (found.name, found.classes, found.notes) == (plain.name, plain.classes, plain.notes)
    assert entries(source.parent / ".fer_lightning_cache")


def test_a_changed_source_is_read_again_and_its_old_entry_removed(source, reads):
    load(source)
    source.write_text(csv_text(9))
    assert len(load(source)) == 9
    assert len(reads) == 2
    assert len(entries(source.parent / ".fer_lightning_cache")) == 1


def test_the_same_size_at_another_time_is_read_again(source, reads):
    load(source)
    status = source.stat()
    os.utime(source, ns=(status.st_atime_ns, status.st_mtime_ns + 1))
    load(source)
    assert len(reads) == 2


def test_a_changed_file_of_a_folder_is_noticed(tmp_path, monkeypatch, reads):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    root = write_folder(tmp_path / "fer", fer_members())
    load(root)
    load(root)
    assert len(reads) == 1
    (root / "train/sad/Training_4.png").unlink()
    assert len(load(root)) == 13
    assert len(reads) == 2


def test_every_set_of_options_has_its_entry(source, reads):
    load(source)
    load(source, image_size=24)
    load(source, on_corrupt="error", kind="auto")  # the defaults, written out
    assert load(source, image_size=24).images.shape == (8, 1, 24, 24)
    assert len(reads) == 2


def test_changed_votes_are_read_again(source, reads):
    names = "neutral,happiness,surprise,sadness,anger,disgust,fear,contempt,unknown,NF"
    usages = ("Training", "PublicTest", "PrivateTest")
    votes = source.parent / "fer2013new.csv"
    lines = [f"{usages[i % 3]},,0,{i + 1},0,0,0,0,0,0,0,0" for i in range(8)]
    votes.write_text("\n".join([f"Usage,Image name,{names}", *lines]))
    load(source, ferplus=votes, soft_labels=True)
    found = load(source, ferplus=str(votes), soft_labels=True)
    assert len(reads) == 1
    assert found.labels.tolist() == [3] * 8
    assert found.soft.tolist() == [[0, 0, 0, 1, 0, 0, 0, 0]] * 8
    votes.write_text(votes.read_text().replace(",0,1,0,", ",9,1,0,"))
    assert load(source, ferplus=votes).labels.tolist() == [6] + [3] * 7


def test_it_lies_beside_the_file_that_was_found(source):
    load(source.parent)
    assert entries(source.parent / ".fer_lightning_cache")
    assert not (source.parent.parent / ".fer_lightning_cache").exists()


def test_a_given_folder_is_used(source, tmp_path):
    load(source, cache_dir=tmp_path / "a" / "b")
    assert len(entries(tmp_path / "a" / "b")) == 1
    assert not (source.parent / ".fer_lightning_cache").exists()


def cut(folder):
    path = folder / "images.npy"
    path.write_bytes(path.read_bytes()[:-100])


def flip(folder):
    path = folder / "images.npy"
    data = bytearray(path.read_bytes())
    data[-1000] ^= 1
    path.write_bytes(data)


def reshape(folder):
    np.save(folder / "images.npy", np.load(folder / "images.npy").reshape(8, 1, 24, 96))


def shuffle(folder):
    """Labels that add up to the same."""
    labels = np.load(folder / "labels.npy")
    assert not np.array_equal(labels, labels[::-1])
    np.save(folder / "labels.npy", labels[::-1])


def rename(folder):
    files = np.load(folder / "files.npy")
    np.save(folder / "files.npy", files[::-1])


def pickled(folder):
    (folder / "labels.npy").write_bytes(pickle.dumps([1, 2, 3]))


def objects(folder):
    np.save(folder / "files.npy", np.array([{}], object), allow_pickle=True)


def meta(folder, change):
    path = folder / "meta.json"
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))


@pytest.mark.parametrize(
    "damage",
    [
        cut,
        flip,
        reshape,
        shuffle,
        rename,
        pickled,
        objects,
        lambda folder: (folder / "meta.json").unlink(),
        lambda folder: (folder / "labels.npy").unlink(),
        lambda folder: (folder / "labels.npy").write_bytes(b""),
        lambda folder: (folder / "meta.json").write_bytes(b"\xff{"),
        lambda folder: (folder / "meta.json").write_text("[]"),
        lambda folder: meta(folder, lambda m: m.update(fingerprint="0" * 16)),
        lambda folder: meta(folder, lambda m: m["classes"].reverse()),
        lambda folder: meta(folder, lambda m: m["arrays"].pop("usage")),
        lambda folder: meta(folder, lambda m: m["arrays"].update(extra={})),
    ],
)
def test_a_damaged_entry_is_noticed_and_made_anew(source, reads, damage):
    plain = load(source)
    [folder] = entries(source.parent / ".fer_lightning_cache")
    damage(folder)
    with pytest.warns(UserWarning, match="damaged and will be made anew"):
        again = load(source)
    assert np.array_equal(again.images, faces(8)[:, None])
    assert again.fingerprint == plain.fingerprint
    assert len(reads) == 2
    load(source)
    assert len(reads) == 2


def test_where_nothing_can_be_written_beside_it_goes_to_the_users_folder(source, tmp_path, reads):
    (source.parent / ".fer_lightning_cache").write_text("a file in the way")
    load(source)
    load(source)
    assert len(reads) == 1
    assert len(entries(tmp_path / "home" / "fer_lightning")) == 1


def test_where_nothing_can_be_written_at_all_it_is_said(source, reads):
    with pytest.warns(
        UserWarning, match="could not be cached .*(Not a directory|File exists).*set cache_dir"
    ):
        found = load(source, cache_dir=source / "below a file")
    assert np.array_equal(found.images, faces(8)[:, None])


def test_a_full_disk_leaves_nothing_behind(source, tmp_path, monkeypatch):
    def full(*args, **kwargs):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(cache_entry.np, "save", full)
    with pytest.warns(UserWarning, match="No space left on device"):
        assert len(load(source)) == 8
    assert not entries(source.parent / ".fer_lightning_cache")
    assert not entries(tmp_path / "home" / "fer_lightning")


def test_a_source_that_changes_while_it_is_read_is_not_kept(source, monkeypatch):
    def slow(path, **options):
        found = read(path, **options)
        source.write_text(csv_text(9))
        return found

    monkeypatch.setattr(cache, "read", slow)
    assert len(load(source)) == 8
    assert not (source.parent / ".fer_lightning_cache").exists()


def test_what_a_dead_process_left_is_removed(source):
    load(source)
    folder = source.parent / ".fer_lightning_cache"
    for name in ("old", "new"):
        (folder / f".unfinished-{name}").mkdir()
    os.utime(folder / ".unfinished-old", (0, 0))
    load(source, image_size=24)
    assert not (folder / ".unfinished-old").exists()
    assert (folder / ".unfinished-new").exists()


def test_errors_of_the_reader_come_through(tmp_path):
    with pytest.raises(UserError, match="there is nothing"):
        load(tmp_path / "missing")


def test_two_processes_at_once(source, tmp_path):
    # each waits for the other before it begins, then both read, write and rename
    script = """
import sys, time
from pathlib import Path
from fer_lightning.data import cache
me, other = Path(sys.argv[2]), Path(sys.argv[3])
write = cache.write_entry
def together(*args):
    me.touch()
    while not other.exists():
        time.sleep(0.001)
    write(*args)
cache.write_entry = together
print(cache.load(sys.argv[1]).fingerprint)
"""
    flags = [tmp_path / "a", tmp_path / "b"]
    processes = [
        subprocess.Popen(
            [sys.executable, "-W", "error", "-c", script, str(source), *map(str, order)],
            stdout=subprocess.PIPE,
            text=True,
        )
        for order in (flags, flags[::-1])
    ]
    printed = [process.communicate(timeout=60)[0].strip() for process in processes]
    assert [process.returncode for process in processes] == [0, 0]
    assert printed == [read(source).fingerprint] * 2
    assert len(entries(source.parent / ".fer_lightning_cache")) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert load(source).fingerprint == printed[0]


def test_entries_of_before_are_made_again_without_a_word(source, reads, monkeypatch):
    monkeypatch.setattr(cache, "CACHE_VERSION", 1)
    load(source)
    monkeypatch.undo()
    monkeypatch.setattr(cache, "read", lambda path, **options: reads.append(path) or read(path))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        load(source, cache_dir=source.parent / ".fer_lightning_cache")
    assert len(reads) == 2
    assert len(entries(source.parent / ".fer_lightning_cache")) == 1


def test_a_gitignore_of_the_users_stays(source, tmp_path):
    folder = tmp_path / "mine"
    folder.mkdir()
    load(source, cache_dir=folder)
    assert not (folder / ".gitignore").exists()  # it would hide the user's files from git
    (folder / ".gitignore").write_text("*.pyc\n")
    load(source, cache_dir=folder, image_size=24)
    assert (folder / ".gitignore").read_text() == "*.pyc\n"
    load(source)
    assert (source.parent / ".fer_lightning_cache" / ".gitignore").read_text() == "*\n"


def test_a_file_that_is_cut_while_in_use_is_named(source):
    """The system would end the process with SIGBUS."""
    load(source)
    found = load(source)
    part = found.images[2:5]
    os.truncate(found.images.filename, 200)
    with pytest.raises(UserError, match=r"images\.npy as it was .* cut while in use; start again"):
        _ = found.images[np.array([3, 7])]
    with pytest.raises(UserError, match="cut while in use"):
        _ = part[0]
    with pytest.warns(UserWarning, match="damaged and will be made anew"):
        assert len(load(source).images[3]) == 1


def test_what_was_copied_out_needs_no_file(source):
    load(source)
    kept = load(source)
    assert (type(kept.images), type(kept.images[1:3])) == (cache.WholeFile, cache.WholeFile)
    assert type(kept.labels.max()) is np.int64
    assert type(kept.labels == 1) is np.ndarray
    found = kept.images[np.array([1, 2])]
    assert type(found) is np.ndarray
    assert np.array_equal(pickle.loads(pickle.dumps(found)), faces(8)[1:3, None])
