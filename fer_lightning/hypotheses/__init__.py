"""The hypotheses of a study, judged from numbers by rules that are written down.

Each hypothesis is one file ``h<number>_<name>.py``, which registers it; all of them are imported
here.
"""

import re
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

from fer_lightning.hypotheses.registry import (
    HYPOTHESES,
    Asked,
    TwoModels,
    ask_by_default,
    hypothesis,
    judge_all,
    list_hypotheses,
    read_asked,
    register_hypothesis,
)
from fer_lightning.hypotheses.verdict import Outcome, Verdict

for _module in iter_modules([str(Path(__file__).parent)]):
    if re.match(r"h\d", _module.name):
        import_module(f"fer_lightning.hypotheses.{_module.name}")

__all__ = [
    "HYPOTHESES",
    "Asked",
    "Outcome",
    "TwoModels",
    "Verdict",
    "ask_by_default",
    "hypothesis",
    "judge_all",
    "list_hypotheses",
    "read_asked",
    "register_hypothesis",
]
