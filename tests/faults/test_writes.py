"""A run that dies or finds the disk full at any of its writes ends as if nothing had happened."""

import shutil

import pytest
from tiny_run import exit_code, forked, results, train
from write_faults import DIED, Writes, dies, full, weights

SOME = (0.27, 0.9)  # of all writes, where every one would take minutes: a checkpoint, predictions
FEW = 30  # writes of a run that goes on, at least


def resumed(folder, whole):
    """Go on with a run, and compare it with the undisturbed one, number by number."""
    if not (folder / "summary.json").is_file():
        train(folder, resume=(folder / "config.yaml").is_file())
    last = max(folder.parent.glob("run*"), key=lambda path: path.stat().st_mtime_ns)
    assert results(last) == whole[0]
    assert weights(last) == whole[1]


def disturbed(folder, number, act, resume=False):
    """Train in a child process, forked from this warm one; return its exit code."""

    def call():
        with Writes(folder, number, act):
            train(folder, resume)

    return exit_code(forked(call))


def check_death(folder, number, whole):
    assert disturbed(folder, number, dies) == DIED
    resumed(folder, whole)


def check_full(folder, number, whole, capfd):
    capfd.readouterr()
    code = disturbed(folder, number, full)
    told = capfd.readouterr().err
    assert code in (0, 2), f"write {number}: {told}"  # never a traceback
    if code == 2:
        assert "(No space left on device)" in told
        assert told.count("expected") == 1
    resumed(folder, whole)


@pytest.mark.parametrize("share", SOME)
def test_death_at_some_writes(place, whole, share):
    check_death(place / "run", round(share * whole[2]), whole)


@pytest.mark.parametrize("share", SOME)
def test_a_full_disk_at_some_writes(place, whole, share, capfd):
    check_full(place / "run", round(share * whole[2]), whole, capfd)


@pytest.mark.slow
def test_death_at_every_write(place, whole):
    for number in range(1, whole[2] + 1):
        check_death(place / str(number) / "run", number, whole)
        shutil.rmtree(place / str(number))


@pytest.mark.slow
def test_a_second_death_after_every_write(place, whole):
    for number in range(1, whole[2] + 1):
        folder = place / str(number) / "run"
        assert disturbed(folder, number, dies) == DIED
        if (folder / "config.yaml").is_file() and not (folder / "summary.json").is_file():
            assert disturbed(folder, 1 + number % FEW, dies, resume=True) == DIED
        resumed(folder, whole)
        shutil.rmtree(folder.parent)


@pytest.mark.slow
def test_a_full_disk_at_every_write(place, whole, capfd):
    for number in range(1, whole[2] + 1):
        check_full(place / str(number) / "run", number, whole, capfd)
        shutil.rmtree(place / str(number))
