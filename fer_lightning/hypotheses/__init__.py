"""The hypotheses of a study, judged from numbers by rules that are written down."""

from fer_lightning.hypotheses.asked import Asked, judge_all, read_asked
from fer_lightning.hypotheses.h1_data_efficiency import change_of_lead, lead
from fer_lightning.hypotheses.h2_focus import focus
from fer_lightning.hypotheses.h3_transfer import Pair, transfer
from fer_lightning.hypotheses.verdict import Outcome, Verdict

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
