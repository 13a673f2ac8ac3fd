"""The rule of H2 in words, and followed: which method decides, and why nothing is decided."""

from collections.abc import Sequence
from typing import NamedTuple

from fer_lightning.hypotheses.focus_gates import ARBITER_RULE
from fer_lightning.hypotheses.focus_measures import RELEVANT, Decided, Family
from fer_lightning.hypotheses.truth import RULE as TRUTH_RULE
from fer_lightning.hypotheses.verdict import (
    TWO_ROWS,
    Outcome,
    Undecided,
    in_words,
    no_power,
)
from fer_lightning.runs.files import PAPER_METHOD


def rule(family: Family) -> str:
    """Write down the rule that `conclude` follows."""
    m = family.tests
    level, times = (f"alpha / {m}", f", times {m} tests (Bonferroni),") if m > 1 else ("alpha", "")
    return (
        "The measure is the mass ratio (the region's share of the heat over its share of the area) "
        "with all maps averaged to one grid, zero maps counting as 1, on the images that have "
        "regions of their own (exact, label maps or landmarks, no template). "
        "A method says that a model looks more where the difference's whole interval for the "
        f"architecture, of the level 1 - {level}, lies on its side, so that its p{times} is below "
        f"alpha = {family.alpha:g}; where the same holds with zero maps left out; where that model "
        "is above its own untrained twins; and "
        "where the arbiter does not contradict. Supported where Grad-CAM says it of the first "
        "model, and so does at least one method that passed the truth test for both architectures; "
        "not supported where a method that passed says it of the second model, whatever Grad-CAM "
        "says; undecided where intervals of methods that passed lie on both sides, and otherwise. "
        "Undecided is of one kind: missing (planned cells, a second training of each model, a "
        "measurement or a control), "
        "contradiction (methods or controls), no effect (the whole interval within "
        f"+-{RELEVANT:g}) or no power. "
        f"{TWO_ROWS} {TRUTH_RULE} {ARBITER_RULE}"
    )


class Doubt(NamedTuple):
    """Something that takes an answer back, and which kind of undecided it makes it."""

    kind: Undecided
    text: str


class Look(NamedTuple):
    """What one method says of two models."""

    method: str
    decided: Decided
    side: int  # 1: the first model looks more, -1: the second, 0: nothing
    doubts: list[Doubt]  # about that side


class Conclusion(NamedTuple):
    """An outcome with its kind and a sentence."""

    outcome: Outcome
    kind: Undecided
    sentence: str


def conclude(paper: Look, believed: Sequence[Look], tested_on: Sequence[str]) -> Conclusion:
    """Follow the rule, given what Grad-CAM and each method that passed say.

    Args:
        paper: Grad-CAM; it may be among those believed.
        believed: those that passed for both architectures, at least one.
        tested_on: the data sets on which they passed.
    """
    ahead, behind = ([one for one in believed if one.side == side] for side in (1, -1))
    if ahead and behind:
        said = f"{_names(ahead)} and {_names(behind)} passed the truth test and disagree"
        return Conclusion("undecided", "contradiction", f"{said}: {say([ahead[0], behind[0]])}.")
    saying = ahead or behind
    if not saying:
        return _silent(min(believed, key=lambda one: _width(one.decided)))
    clear = [one for one in saying if not one.doubts]
    if not clear:
        return _doubted(saying[0])
    passed = f"passed the truth test on {' and '.join(tested_on)}"
    if behind:
        sentence = f"{_names(clear)} decided ({passed}): {say(clear)}."
        return Conclusion("not supported", "", sentence)
    if paper.side > 0 and not paper.doubts:
        others = [one for one in clear if one is not paper]
        sentence = f"{_names(others or clear)} decided ({passed}): {say(others or clear)}."
        agrees = f" Grad-CAM agrees: {say([paper])}." if others else ""
        return Conclusion("supported", "", sentence + agrees)
    beside = f"{_names(clear)}, which {passed}, says so ({say(clear)})"
    if paper.side < 0:
        text = f"{beside}, but Grad-CAM the opposite: {say([paper])}."
        return Conclusion("undecided", "contradiction", text)
    rest = _doubted(paper) if paper.side > 0 else _silent(paper)
    return rest._replace(sentence=f"{beside}, but Grad-CAM does not. {rest.sentence}")


def _doubted(look: Look) -> Conclusion:
    """Take an answer back; what is missing goes before what contradicts."""
    kind = min((doubt.kind for doubt in look.doubts), key=("missing", "contradiction").index)
    texts = "; ".join(doubt.text for doubt in look.doubts)
    return Conclusion("undecided", kind, f"{say([look])}. But {texts}.")


def _silent(look: Look) -> Conclusion:
    """Say why nothing can be said: no effect of a relevant size, or no power to see one."""
    interval = look.decided.comparison.interval
    if interval.low > -RELEVANT and interval.high < RELEVANT:
        text = f"No effect: {say([look])}, within +-{RELEVANT:g}."
        return Conclusion("undecided", "no effect", text)
    return Conclusion(
        "undecided", "no power", f"{say([look])}. {no_power(look.decided.comparison)}"
    )


def _width(decided: Decided) -> float:
    interval = decided.comparison.interval
    return interval.high - interval.low


def say(looks: Sequence[Look]) -> str:
    """Tell each method's difference in words; of one training, for this training."""
    return "; ".join(f"{name_of(one.method)} {in_words(one.decided.told)}" for one in looks)


def _names(looks: Sequence[Look]) -> str:
    return " and ".join(name_of(one.method) for one in looks)


def name_of(method: str) -> str:
    """Name a method for readers."""
    return "Grad-CAM" if method == PAPER_METHOD else method
