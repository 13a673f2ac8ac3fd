"""Hypotheses and sections that another package adds, without a change of ours."""

from dataclasses import replace

import pytest
from pydantic import Field
from report_reading import table, words
from report_runs import LOOKING, write_run

from fer_lightning.errors import UserError
from fer_lightning.hypotheses import (
    HYPOTHESES,
    Asked,
    TwoModels,
    Verdict,
    hypothesis,
    register_hypothesis,
)
from fer_lightning.hypotheses.registry import Model
from fer_lightning.report.compose import compose
from fer_lightning.report.content import Table
from fer_lightning.report.sections.registry import SECTIONS, register_section, section
from fer_lightning.runs.collection import collect


class Above(Asked):
    """A model, and the accuracy that it shall reach."""

    model: Model = Field(description="a model")
    least: float = Field(description="an accuracy from 0 to 1", ge=0, le=1)


def above(asked, evidence):
    right = [cell.correct.mean() for (m, *_), cell in evidence.cells.items() if m == asked.model]
    outcome = "supported" if min(right) > asked.least else "not supported"
    statement = f"{asked.model} recognises more than {asked.least:.0%}"
    return [Verdict("H94", statement, outcome, f"The worst run: {min(right):.2f}.", "The worst.")]


@pytest.fixture
def runs(tmp_path):
    for model in ("cnn", "vit"):
        write_run(tmp_path, model, leave_out=LOOKING)
    return collect([tmp_path])


@pytest.fixture
def h4():
    register_hypothesis("H94", above, Above)
    yield
    HYPOTHESES.pop("H94")


@pytest.mark.parametrize(("least", "outcome"), [(0.0, "supported"), (1.0, "not supported")])
def test_a_hypothesis_from_outside_is_judged_and_reported(runs, h4, least, outcome):
    asked = {"hypothesis": "H94", "model": "vit", "least": least}
    report = compose(replace(runs, study={"hypotheses": [asked]}))
    (row,) = table(report, "verdicts").rows
    assert row[:3] == ("H94", f"vit recognises more than {least:.0%}", outcome)
    assert table(report, "rules").rows == (("H94", "The worst."),)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"model": "vti"}, "expected models of the study in H94 but got 'vti'; did you mean 'vit'"),
        ({"least": 2.0}, "expected an accuracy from 0 to 1 but got 2.0"),
        ({"first": "cnn"}, "expected a known key but got 'first'"),
    ],
)
def test_its_mistakes_are_told_by_its_own_schema(runs, h4, change, message):
    asked = {"hypothesis": "H94", "model": "vit", "least": 0.5} | change
    assert message in words(compose(replace(runs, study={"hypotheses": [asked]})))


def test_names_are_taken_once(h4):
    with pytest.raises(UserError, match="'H1a' is taken"):
        hypothesis("H1a", TwoModels)(lambda asked, evidence: [])
    with pytest.raises(UserError, match="'data' is taken"):
        section("data", "Data", 1)(lambda material: [])
    register_hypothesis("H94", above, Above)  # again, as a notebook's cell does


def test_a_section_from_outside_stands_where_it_wants(runs):
    def sizes(material):
        rows = tuple((run.name, run.summary["parameters"]) for run in material.runs.runs)
        return [Table("sizes", "How large.", ("run", "parameters"), rows)]

    register_section("sizes", "Sizes", sizes, place=15)
    try:
        report = compose(runs)
    finally:
        SECTIONS.pop("sizes")
    assert [s.id for s in report.sections][:3] == ["summary", "sizes", "data"]
    assert [row[0] for row in table(report, "sizes").rows] == [run.name for run in runs.runs]
    assert "sizes" not in [s.id for s in compose(runs).sections]
