"""The hypotheses by name, each registered in its own file, and those that a study asks."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.metadata import entry_points
from typing import Annotated, Any, NamedTuple, TypeVar

from pydantic import AfterValidator, ConfigDict, Field, ValidationInfo, model_validator

from fer_lightning.errors import UserError, nearest
from fer_lightning.hypotheses.contrast import Question
from fer_lightning.hypotheses.evidence import Cell, Evidence, Focus, by_key
from fer_lightning.hypotheses.truth import Truth, shipped_truth
from fer_lightning.hypotheses.verdict import Verdict
from fer_lightning.runs.files import PAPER_METHOD
from fer_lightning.runs.run import Run
from fer_lightning.schema import Schema, check
from fer_lightning.statistics import ALPHA

ENTRY_POINTS = "fer_lightning.hypotheses"  # each names a function registered by `hypothesis`


def _registered(name: str) -> str:
    if name not in list_hypotheses():
        raise ValueError(
            f"expected a hypothesis but got {name!r:.60}; {nearest(name, list_hypotheses())}"
        )
    return name


def _of_study(model: str, info: ValidationInfo) -> str:
    known = (info.context or {}).get("models", [model])
    if model not in known:
        raise ValueError(
            f"expected models of the study in {info.data.get('hypothesis')} but got {model!r}; "
            f"{nearest(model, known)}"
        )
    return model


Model = Annotated[str, AfterValidator(_of_study)]  # a study's name of a model


class Asked(Schema):
    """What a study file says of one hypothesis; a subclass adds what its hypothesis must know."""

    hypothesis: Annotated[str, AfterValidator(_registered)] = Field(description="a hypothesis")


class TwoModels(Asked):
    """A hypothesis that compares two models of the study."""

    first: Model = Field(description="the model it speaks for as first")
    second: Model = Field(description="the other model as second")

    @model_validator(mode="after")
    def _different(self) -> "TwoModels":
        if self.first == self.second:
            raise ValueError(
                f"expected two different models in {self.hypothesis} but got {self.first!r} twice; "
                "name the one it speaks for as first and the other as second"
            )
        return self


class _AnyAsked(Asked):
    """Read first, to see by which schema the rest is read."""

    model_config = ConfigDict(extra="allow")


A = TypeVar("A", bound=Asked)
Judge = Callable[[A, Evidence], list[Verdict]]


Ask = Callable[[A, Sequence[float]], list[Question]]


class Hypothesis(NamedTuple):
    """How a hypothesis is judged, what it must be told, and whether to ask it without a study."""

    judge: Judge[Any]
    schema: type[Asked]
    by_default: bool
    questions: Ask[Any] | None = None  # on accuracies, of which power can be told beforehand


HYPOTHESES: dict[str, Hypothesis] = {}


def hypothesis(
    name: str, schema: type[A], by_default: bool = False, questions: Ask[A] | None = None
) -> Callable[[Judge[A]], Judge[A]]:
    """Register a function that judges a hypothesis; study files then may ask it.

    Args:
        name: in study files and reports, such as "H4".
        schema: what an entry of a study file holds: `TwoModels`, or another subclass of `Asked`.
        by_default: ask it of the first two models where no study says what to ask.
        questions: its family of sums of accuracies at given fractions, if it is of this kind;
            ``study --dry-run`` then says how many seeds they need.

    Raises:
        UserError: the name is taken by another function.

    >>> @hypothesis("H99", TwoModels)
    ... def nothing(asked, evidence):
    ...     return [Verdict("H99", f"{asked.first} exists", "undecided", "", "")]
    >>> asked = read_asked([{"hypothesis": "H99", "first": "cnn", "second": "vit"}], ["cnn", "vit"])
    >>> judge_all(asked, [], [], [1.0], [42])[0].statement
    'cnn exists'
    >>> _ = HYPOTHESES.pop("H99")
    """

    def register(judge: Judge[A]) -> Judge[A]:
        taken = HYPOTHESES.get(name)
        if taken is not None and taken.judge.__qualname__ != judge.__qualname__:
            raise UserError(f"expected a new name of a hypothesis but '{name}' is taken; rename it")
        HYPOTHESES[name] = Hypothesis(judge, schema, by_default, questions)
        return judge

    return register


def register_hypothesis(
    name: str,
    judge: Judge[A],
    schema: type[A],
    by_default: bool = False,
    questions: Ask[A] | None = None,
) -> None:
    """Register a hypothesis of another package; arguments as for `hypothesis`."""
    hypothesis(name, schema, by_default, questions)(judge)


def list_hypotheses() -> list[str]:
    """Return the names of all hypotheses, those of other packages included."""
    for entry in entry_points(group=ENTRY_POINTS):
        if entry.name not in HYPOTHESES:
            entry.load()
    return list(HYPOTHESES)


def read_asked(entries: Sequence[Mapping[str, Any]], models: Sequence[str]) -> list[Asked]:
    """Read the hypotheses of a study file.

    Args:
        entries: mappings with a hypothesis and what it must be told.
        models: the study's.

    Raises:
        UserError: an unknown hypothesis, field or model, a missing field, or one model twice.

    >>> entry = {"hypothesis": "H1a", "first": "cnn", "second": "vit"}
    >>> read_asked([entry], ["cnn", "vit"])[0].first
    'cnn'
    """
    found = []
    for entry in entries:
        name = check(_AnyAsked, entry, None).hypothesis
        found.append(check(HYPOTHESES[name].schema, entry, None, models=tuple(models)))
    return found


def ask_by_default(first: str, second: str) -> list[Asked]:
    """Return what is asked of two models where no study says it."""
    return [
        entry.schema.model_validate({"hypothesis": name, "first": first, "second": second})
        for name, entry in HYPOTHESES.items()
        if entry.by_default
    ]


def judge_all(
    asked: Sequence[Asked],
    cells: Iterable[Cell],
    focus: Iterable[Focus],
    fractions: Sequence[float],
    seeds: Sequence[int],
    alpha: float = ALPHA,
    truth: Truth | None = None,
    runs: Iterable[Run] = (),
    planned: bool = True,
) -> list[Verdict]:
    """Judge every hypothesis asked; each is a family of tests by itself.

    Args:
        asked: as `read_asked` gives them.
        cells: finished ones.
        focus: of finished ones, by any method.
        fractions: planned ones; what is missing leaves a verdict undecided.
        seeds: planned ones.
        alpha: of each family.
        truth: which method may be believed; what we measured without it.
        runs: finished ones, for hypotheses that read more of them.
        planned: whether fractions and seeds were planned; else what was found is taken for it.

    Raises:
        UserError: two results for one cell, or cells without a common test image.
    """
    looks: dict[str, list[Focus]] = {PAPER_METHOD: []}
    for one in focus:
        looks.setdefault(one.method, []).append(one)
    found = {method: by_key(several) for method, several in looks.items()}
    evidence = Evidence(
        by_key(cells),
        found.pop(PAPER_METHOD),
        tuple(fractions),
        tuple(seeds),
        alpha,
        others=found,
        truth=shipped_truth() if truth is None else truth,
        runs=tuple(runs),
        planned=planned,
    )
    return [v for entry in asked for v in HYPOTHESES[entry.hypothesis].judge(entry, evidence)]
