"""How many threads a training gets: as many as there are idle processors when it starts.

Threads of torch wait for each other at every step, so that one that shares its processor holds up
all: beside a busy process two threads on two processors are slower than one.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from time import sleep

STAT = Path("/proc/stat")
SECONDS = 0.5  # over which processors are watched
Ticks = tuple[int, int]  # idle, and all


def read_ticks(text: str) -> dict[int, Ticks]:
    r"""Read the time of each processor from the text of /proc/stat.

    >>> read_ticks("cpu  4 0 0 12 0 0 0 0\ncpu0 1 0 1 5 3 0 0 0\nctxt 9")
    {0: (8, 10)}
    """
    ticks = {}
    for line in text.splitlines():
        name, *numbers = line.split() or [""]
        if name.startswith("cpu") and name != "cpu":
            spent = [int(number) for number in numbers[:8]]  # guests are counted among users
            ticks[int(name[3:])] = spent[3] + spent[4], sum(spent)
    return ticks


def idle_processors(before: Mapping[int, Ticks], after: Mapping[int, Ticks]) -> float:
    """Return how many processors' worth of time nobody used between two readings.

    >>> idle_processors({0: (0, 0), 1: (0, 0)}, {0: (50, 50), 1: (10, 50)})
    1.2
    """
    spent = [(after[cpu][0] - idle, after[cpu][1] - time) for cpu, (idle, time) in before.items()]
    return sum(idle / time for idle, time in spent if time > 0)


def choose_threads(most: int, seconds: float = SECONDS, stat: Path = STAT) -> tuple[int, str]:
    """Return a number of threads and why.

    Args:
        most: torch's own choice, which knows cores and OMP_NUM_THREADS.
        seconds: how long processors are watched.
        stat: where the system counts their time.
    """
    if given := os.environ.get("OMP_NUM_THREADS"):
        return most, f"OMP_NUM_THREADS is {given}"
    try:
        mine = os.sched_getaffinity(0)
        before = read_ticks(stat.read_text())
        sleep(seconds)
        after = read_ticks(stat.read_text())
    except (OSError, AttributeError, ValueError):  # no Linux
        return most, "what is idle cannot be seen here"
    idle = idle_processors({cpu: before[cpu] for cpu in mine & before.keys() & after.keys()}, after)
    return max(1, min(most, round(idle))), f"{idle:.1f} of {len(mine)} processors are idle"
