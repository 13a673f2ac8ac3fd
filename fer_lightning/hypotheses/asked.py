"""Which hypotheses a study asks, and all their verdicts."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from pydantic import Field, ValidationInfo, model_validator

from fer_lightning.errors import nearest
from fer_lightning.hypotheses.evidence import Cell, Focus, by_key
from fer_lightning.hypotheses.h1_data_efficiency import change_of_lead, lead
from fer_lightning.hypotheses.h2_focus import focus as judge_focus
from fer_lightning.hypotheses.h3_transfer import Pair, transfer
from fer_lightning.hypotheses.verdict import Verdict
from fer_lightning.schema import Schema, check
from fer_lightning.statistics import ALPHA


class Asked(Schema):
    """One hypothesis of a study.

    Args:
        hypothesis: "H1a", "H1b", "H2" or "H3".
        first: the model it speaks for, such as the CNN.
        second: the other.
        first_pretrained: for H3, the study's name of the first with pre-trained weights.
        second_pretrained: likewise.
    """

    hypothesis: Literal["H1a", "H1b", "H2", "H3"] = Field(description="a hypothesis")
    first: str = Field(description="the model it speaks for as first")
    second: str = Field(description="the other model as second")
    first_pretrained: str = Field(default="", description="the first model, pre-trained,")
    second_pretrained: str = Field(default="", description="the second model, pre-trained,")

    @model_validator(mode="after")
    def _fits(self, info: ValidationInfo) -> "Asked":
        name, pretrained = self.hypothesis, (self.first_pretrained, self.second_pretrained)
        if [bool(model) for model in pretrained] != [name == "H3"] * 2:
            raise ValueError(
                "expected first_pretrained and second_pretrained for H3 and for no other but got "
                f"{pretrained} for {name}; write both or none"
            )
        if self.first == self.second:
            raise ValueError(
                f"expected two different models in {name} but got {self.first!r} twice; name the "
                "one it speaks for as first and the other as second"
            )
        known = (info.context or {}).get("models")
        for model in (self.first, self.second, *filter(None, pretrained)):
            if known is not None and model not in known:
                raise ValueError(
                    f"expected models of the study in {name} but got {model!r}; "
                    f"{nearest(model, known)}"
                )
        return self


def read_asked(entries: Sequence[Mapping[str, Any]], models: Sequence[str]) -> list[Asked]:
    """Read the hypotheses of a study file.

    Args:
        entries: mappings with the fields of `Asked`.
        models: the study's.

    Raises:
        UserError: an unknown hypothesis, field or model, a missing field, or one model twice.

    >>> entry = {"hypothesis": "H1a", "first": "cnn", "second": "vit"}
    >>> read_asked([entry], ["cnn", "vit"])[0].first
    'cnn'
    """
    return [check(Asked, entry, None, models=tuple(models)) for entry in entries]


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
