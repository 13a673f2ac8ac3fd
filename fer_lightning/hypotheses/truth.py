"""Which method of looking may be believed for which architecture, and by which metric.

Where a planted cue tells the class with a known probability p, it is known where a model must look.
A table has, for each data set, architecture, method, metric and training seed, how well the metric
tells a model that reads the cue from one that reads the faces (AUC over images, with its 95 %
interval), and the rank correlation of its value with p and with what hiding the cue costs; both are
positive where the metric goes the right way. ``known_truth.csv`` is the one that we measured.
"""

import csv
import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from fer_lightning.errors import UserError

SHIPPED = Path(__file__).with_name("known_truth.csv")
LOWEST_AUC = 0.9  # of the lower end of its 95 % interval
LOWEST_RANK = 0.8  # correlation with p
SEEDS = 2  # at least
ROUNDING = 5e-4  # that a table's numbers may have
MAX_BYTES = 2 << 20  # a row takes 100
RULE = (
    f"A method has passed for an architecture where, in every data set and seed measured, at least "
    f"{SEEDS}, the lower 95 % bound of the AUC is at least {LOWEST_AUC:g} and the rank correlation "
    f"with the cue's strength at least {LOWEST_RANK:g}."
)
WORDS = ("data", "model", "method", "metric")
NUMBERS = ("auc", "auc_low", "auc_high", "rank_p", "rank_hiding")
COLUMNS = (*WORDS, "seed", *NUMBERS, "n", "passed")
MAY_LACK = ("rank_p", "rank_hiding")  # a constant metric has no rank


@dataclass(frozen=True)
class Measured:
    """One method and metric, of one model whose right answer is known."""

    data: str  # the data set, such as "drawn faces"
    model: str  # the architecture's registered name
    method: str  # such as "grad_cam"
    metric: str  # such as "auc", the mask AUC on one grid with zero maps as 0.5
    seed: int  # of training
    auc: float
    auc_low: float
    auc_high: float
    rank_p: float
    rank_hiding: float
    n: int  # images
    passed: bool


@dataclass(frozen=True)
class Truth:
    """A table of methods against known truth.

    >>> from dataclasses import replace
    >>> row = Measured("drawn", "cnn", "occlusion", "auc", 1, 1, 0.99, 1, 0.9, 0.7, 200, True)
    >>> one_seed, two_seeds = Truth((row,)), Truth((row, replace(row, seed=2)))
    >>> one_seed.passed("cnn", "occlusion", "auc"), two_seeds.passed("cnn", "occlusion", "auc")
    (False, True)
    >>> two_seeds.passed("vit", "occlusion", "auc") is None
    True
    """

    rows: tuple[Measured, ...] = ()

    def of(self, architecture: str, method: str, metric: str) -> list[Measured]:
        """The rows of a method and metric for an architecture."""
        wanted = (architecture, method, metric)
        return [row for row in self.rows if (row.model, row.method, row.metric) == wanted]

    def passed(self, architecture: str, method: str, metric: str) -> bool | None:
        """Whether the method may be believed for the architecture; None where nobody measured."""
        rows = self.of(architecture, method, metric)
        if not rows:
            return None
        return all(row.passed for row in rows) and len({row.seed for row in rows}) >= SEEDS

    def data(self, architectures: Iterable[str], method: str, metric: str) -> list[str]:
        """The data sets on which a method was measured for any of the architectures."""
        rows = (row for name in architectures for row in self.of(name, method, metric))
        return list(dict.fromkeys(row.data for row in rows))


def passes(auc_low: float, rank_p: float) -> bool:
    """Follow the rule for one row; it was fixed before anything was measured.

    >>> passes(0.93, 0.9), passes(0.93, 0.7), passes(0.89, 1.0), passes(1.0, math.nan)
    (True, False, False, False)
    """
    return auc_low >= LOWEST_AUC and rank_p >= LOWEST_RANK


@lru_cache
def shipped_truth() -> Truth:
    """Return the table that comes with the package."""
    return read_truth(SHIPPED)


def read_truth(path: Path) -> Truth:
    """Read a table as the truth study writes it.

    Raises:
        UserError: it is missing, too large or no CSV, lacks a column, holds a number that cannot
            be, says "passed" where the rule does not, or has a row twice.
    """
    try:
        if path.stat().st_size > MAX_BYTES:
            raise _wrong(path, f"at most {MAX_BYTES:,} bytes", f"{path.stat().st_size:,}")
        with path.open(encoding="utf-8", newline="") as file:
            reader = csv.DictReader(file)
            if missing := [name for name in COLUMNS if name not in (reader.fieldnames or ())]:
                raise _wrong(path, f"the columns {', '.join(COLUMNS)}", f"no {missing[0]}")
            rows = tuple(_row(path, reader.line_num, row) for row in reader)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise _wrong(path, "a table of methods against truth", str(error)[:100]) from error
    times = Counter((r.data, r.model, r.method, r.metric, r.seed) for r in rows)
    if twice := next((key for key, count in times.items() if count > 1), None):
        raise _wrong(path, "one row per seed", f"several for {', '.join(map(str, twice))}")
    return Truth(rows)


def _row(path: Path, line: int, row: dict[str, Any]) -> Measured:
    """Check one line.

    Raises:
        UserError: a value cannot be.
    """
    where = f"in line {line}"
    words = {name: str(row[name] or "").strip()[:80] for name in WORDS}
    if empty := [name for name, word in words.items() if not word]:
        raise _wrong(path, f"a {empty[0]} {where}", "none")
    numbers = {}
    for name in NUMBERS:
        least = -1 if name.startswith("rank") else 0
        lack = not str(row[name] or "").strip() and name in MAY_LACK
        numbers[name] = math.nan if lack else _number(path, where, name, row[name], least)
    whole = {}
    for name, most in (("seed", 2**53), ("n", 2**31), ("passed", 1)):
        value = _number(path, where, name, row[name], 0, most)
        if value != int(value):
            raise _wrong(path, f"a whole number as {name} {where}", str(row[name])[:40])
        whole[name] = int(value)
    if not numbers["auc_low"] <= numbers["auc"] <= numbers["auc_high"]:
        raise _wrong(path, f"auc_low <= auc <= auc_high {where}", f"auc {numbers['auc']:g}")
    low, rank = numbers["auc_low"], numbers["rank_p"]
    lower, higher = (passes(low + step, rank + step) for step in (-ROUNDING, ROUNDING))
    if whole["passed"] not in (lower, higher):
        raise _wrong(path, f"passed to follow the rule {where}", f"{whole['passed']}: {RULE}")
    return Measured(
        words["data"],
        words["model"],
        words["method"],
        words["metric"],
        whole["seed"],
        numbers["auc"],
        low,
        numbers["auc_high"],
        rank,
        numbers["rank_hiding"],
        whole["n"],
        bool(whole["passed"]),
    )


def _number(
    path: Path, where: str, name: str, text: object, low: float, high: float = 1.0
) -> float:
    try:
        value = float(str(text))
    except ValueError:
        value = math.nan
    if not low <= value <= high:  # NaN is in no range
        raise _wrong(path, f"{name} from {low:g} to {high:g} {where}", f"{text!r:.40}")
    return value


def _wrong(path: Path, wanted: str, got: str) -> UserError:
    return UserError(
        f"expected {wanted} in {path} but got {got}; write the table with the truth study again"
    )
