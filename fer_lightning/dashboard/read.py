"""Reading the files of a run folder as far as they can be read.

Each function returns what it found and at most one sentence on what it left out.
"""

import csv
import json
from pathlib import Path
from typing import Any

import yaml

from fer_lightning import keys

MAX_BYTES = 64 << 20  # of a file; metrics.csv takes 100 kB
Numbers = dict[str, float]


def read_metrics(path: Path) -> tuple[dict[int, Numbers], str]:
    r"""Read the numbers of each epoch; lines that are damaged are left out and told.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as place:
    ...     file = Path(place, "metrics.csv")
    ...     _ = file.write_text("epoch,val/acc\n0,0.5\n1,oops\n2,\n")
    ...     rows, told = read_metrics(file)
    >>> rows
    {0: {'val/acc': 0.5}, 2: {}}
    >>> told.split("metrics.csv, ")[1]
    "line 3: expected numbers but could not convert string to float: 'oops'; it is left out"
    """
    text, told = _read(path)
    rows: dict[int, Numbers] = {}
    damaged: list[str] = []
    lines = csv.reader(text.replace("\0", "").splitlines())
    names = next(lines, [])
    for cells in lines:
        try:
            if len(cells) != len(names):
                raise ValueError(f"got {len(cells)} of {len(names)} columns")
            row = {k: float(v) for k, v in zip(names, cells, strict=True) if v}
            rows[int(row.pop(keys.EPOCH))] = row
        except (ValueError, OverflowError, KeyError, csv.Error) as error:
            why = "there is no epoch" if isinstance(error, KeyError) else str(error)[:80]
            damaged.append(f"line {lines.line_num}: expected numbers but {why}")
    if damaged:
        more = f", as are {len(damaged) - 1} more" if len(damaged) > 1 else ""
        told = f"{path}, {damaged[0]}; it is left out{more}"
    return rows, told


def read_table(path: Path) -> tuple[list[str], list[list[Any]], str]:
    """Read the columns and rows of a table, numbers as such; nothing where it is damaged."""
    text, told = _read(path)
    try:
        columns, *rows = csv.reader(text.splitlines())
    except (ValueError, csv.Error):
        return [], [], told
    if any(len(row) != len(columns) for row in rows):
        return [], [], f"{path}: expected {len(columns)} columns in every line; it is left out"
    return columns, [[_value(cell) for cell in row] for row in rows], told


def _value(cell: str) -> Any:
    try:
        return float(cell)
    except ValueError:
        return cell or None


def read_json(path: Path) -> tuple[dict[str, Any], str]:
    """Read a JSON file that holds a mapping, or nothing."""
    text, told = _read(path)
    if not text:
        return {}, told
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        line = getattr(error, "lineno", 1)
        return {}, f"{path}, line {line}: expected JSON but {str(error)[:80]}; it is left out"
    if not isinstance(content, dict):
        return {}, f"{path}, line 1: expected a mapping; it is left out"
    return content, ""


def read_config(path: Path) -> tuple[dict[str, Any], str]:
    """Read a run's configuration, or nothing."""
    text, told = _read(path)
    try:
        content = yaml.safe_load(text) if text else {}
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        return {}, f"{path}, line {mark.line + 1 if mark else 1}: expected YAML; it is left out"
    return (content, told) if isinstance(content, dict) else ({}, told)


def _read(path: Path) -> tuple[str, str]:
    """Return the text of a file; one that is not there yet is empty."""
    try:
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        return "", ""
    except OSError as error:
        return "", f"{path}: cannot be read ({error.strerror}); it is left out"
    if len(content) > MAX_BYTES:
        return "", f"{path}: has more than {MAX_BYTES:,} bytes; it is left out"
    return content.decode(errors="replace"), ""
