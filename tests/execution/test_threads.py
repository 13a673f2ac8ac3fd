import os

import pytest

from fer_lightning.execution import threads

LINE = "cpu{} {} 0 0 {} 0 0 0 0 0 0\n"  # user, ..., idle


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """Two readings of /proc/stat: processors that were busy for so many of 100 ticks."""
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)

    def make(*busy, affinity=None):
        stat = tmp_path / "stat"
        stat.write_text("".join(LINE.format(k, 0, 0) for k in range(len(busy))))
        later = "".join(LINE.format(k, ticks, 100 - ticks) for k, ticks in enumerate(busy))
        monkeypatch.setattr(threads, "sleep", lambda seconds: stat.write_text(later))
        monkeypatch.setattr(
            os, "sched_getaffinity", lambda pid: affinity or set(range(len(busy))), raising=False
        )
        return stat

    return make


@pytest.mark.parametrize(
    ("busy", "affinity", "expected"),
    [
        ((0, 3), None, 2),  # nobody else
        ((100, 2), None, 1),  # one busy process
        ((50, 55), None, 1),  # one that wanders
        ((100, 100), None, 1),  # never none
        ((0, 0, 0, 100), {0, 3}, 1),  # only what it may use
        ((0,) * 8, None, 4),  # never more than torch's own choice
    ],
)
def test_as_many_as_are_idle(machine, busy, affinity, expected):
    number, why = threads.choose_threads(4, stat=machine(*busy, affinity=affinity))
    assert number == expected
    assert f"of {len(affinity or busy)} processors are idle" in why


def test_the_environment_decides(machine, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    assert threads.choose_threads(3, stat=machine(100, 100)) == (3, "OMP_NUM_THREADS is 3")


def test_elsewhere_torch_decides(machine, tmp_path):
    machine(100, 100)
    number, why = threads.choose_threads(2, stat=tmp_path / "none")
    assert (number, why) == (2, "what is idle cannot be seen here")
