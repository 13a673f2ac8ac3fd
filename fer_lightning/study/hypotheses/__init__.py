"""The hypotheses of a study, judged from numbers by rules that are written down."""

from fer_lightning.study.hypotheses.asked import Asked, judge_all, read_asked
from fer_lightning.study.hypotheses.data_efficiency import change_of_lead, lead
from fer_lightning.study.hypotheses.focus import focus
from fer_lightning.study.hypotheses.transfer import Pair, transfer
from fer_lightning.study.hypotheses.verdict import Outcome, Verdict

__all__ = [
    "Asked",
    "Outcome",
    "Pair",
    "Verdict",
    "change_of_lead",
    "focus",
    "judge_all",
    "lead",
    "read_asked",
    "transfer",
]
