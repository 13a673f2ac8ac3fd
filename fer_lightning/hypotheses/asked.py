"""Which hypotheses a study asks, and all their verdicts."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, cast

from fer_lightning.errors import UserError, nearest
from fer_lightning.hypotheses.evidence import Cell, Focus, by_key
from fer_lightning.hypotheses.h1_data_efficiency import change_of_lead, lead
from fer_lightning.hypotheses.h2_focus import focus as judge_focus
from fer_lightning.hypotheses.h3_transfer import Pair, transfer
from fer_lightning.hypotheses.verdict import Verdict
from fer_lightning.statistics import ALPHA

NAMES = ("H1a", "H1b", "H2", "H3")
KEYS = {"hypothesis", "first", "second"}
TRANSFER_KEYS = KEYS | {"first_pretrained", "second_pretrained"}


class Asked(NamedTuple):
    """One hypothesis of a study.

    Args:
        hypothesis: "H1a", "H1b", "H2" or "H3".
        first: the model it speaks for, such as the CNN.
        second: the other.
        first_pretrained: for H3, the study's name of the first with pre-trained weights.
        second_pretrained: likewise.
    """

    hypothesis: str
    first: str
    second: str
    first_pretrained: str = ""
    second_pretrained: str = ""


def read_asked(entries: Sequence[Mapping[str, Any]], models: Sequence[str]) -> list[Asked]:
    """Read the hypotheses of a study file.

    Args:
        entries: mappings with the fields of `Asked`.
        models: the study's.

    Raises:
        UserError: an unknown hypothesis, field or model, a missing field, or one model twice.

    >>> read_asked([{"hypothesis": "H1a", "first": "cnn", "second": "vit"}], ["cnn", "vit"])[0][:3]
    ('H1a', 'cnn', 'vit')
    """
    found = []
    for entry in entries:
        name = entry.get("hypothesis")
        if name not in NAMES:
            raise UserError(f"expected a hypothesis but got {name!r}; {nearest(str(name), NAMES)}")
        wanted = TRANSFER_KEYS if name == "H3" else KEYS
        if set(entry) != wanted:
            raise UserError(
                f"expected {', '.join(sorted(wanted))} for {name} but got "
                f"{', '.join(sorted(map(str, entry)))}; write these"
            )
        asked = Asked(**cast(dict[str, str], dict(entry)))
        unknown = [model for model in asked[1:] if model and model not in models]
        if unknown:
            raise UserError(
                f"expected models of the study in {name} but got {unknown[0]!r}; "
                f"{nearest(str(unknown[0]), models)}"
            )
        if asked.first == asked.second:
            raise UserError(
                f"expected two different models in {name} but got {asked.first!r} twice; name the "
                "one it speaks for as first and the other as second"
            )
        found.append(asked)
    return found


def judge_all(
    asked: Sequence[Asked],
    cells: Iterable[Cell],
    focus: Iterable[Focus],
    fractions: Sequence[float],
    seeds: Sequence[int],
    alpha: float = ALPHA,
) -> list[Verdict]:
    """Judge every hypothesis asked; each is a family of tests by itself.

    Args:
        asked: as `read_asked` gives them.
        cells: finished ones.
        focus: of finished ones.
        fractions: planned ones; what is missing leaves a verdict undecided.
        seeds: planned ones.
        alpha: of each family.

    Raises:
        UserError: two results for one cell, or cells without a common test image.
    """
    correct, looks = by_key(cells), by_key(focus)
    verdicts: list[Verdict] = []
    for one in asked:
        if one.hypothesis == "H3":
            pairs = (
                Pair(one.first, one.first_pretrained),
                Pair(one.second, one.second_pretrained),
            )
            verdicts += transfer(correct, *pairs, fractions, seeds, alpha)
        elif one.hypothesis == "H2":
            verdicts += judge_focus(looks, one.first, one.second, fractions, seeds, alpha)
        else:
            judge = lead if one.hypothesis == "H1a" else change_of_lead
            verdicts += judge(correct, one.first, one.second, fractions, seeds, alpha)
    return verdicts
