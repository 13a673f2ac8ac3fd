"""What runs used in place of what a reader would expect: told on the screen and in every report."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

DRAWN = "drawn faces"


def stand_ins(runs: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Name each once, drawn faces first, with the runs that it is true of where not of all.

    Args:
        runs: content of summary.json or run.json.

    >>> stand_ins([{"substitutions": ["CPU instead of a GPU"]}, {}])
    {'CPU instead of a GPU': ' (1 of 2 runs)'}
    """
    used = Counter(str(line) for run in runs for line in run.get("substitutions") or [])
    return {
        line: "" if used[line] == len(runs) else f" ({used[line]} of {len(runs)} runs)"
        for line in sorted(used, key=lambda line: not line.startswith(DRAWN))
    }
