"""H2: does one model look more at the regions that matter than the other?"""

from collections.abc import Mapping, Sequence

from fer_lightning.hypotheses.evidence import Evidence, Focus, Group, Key, missing_cells
from fer_lightning.hypotheses.focus_gates import (
    Arbitration,
    NullComparison,
    ask_arbiter,
    compare_with_nulls,
)
from fer_lightning.hypotheses.focus_measures import (
    DECIDING,
    NATIVE,
    ZEROS_OUT,
    Check,
    Decided,
    Family,
    check,
    decide,
    regions_of,
)
from fer_lightning.hypotheses.focus_rule import (
    Conclusion,
    Doubt,
    Look,
    conclude,
    name_of,
    rule,
    say,
)
from fer_lightning.hypotheses.registry import TwoModels, hypothesis
from fer_lightning.hypotheses.verdict import (
    MORE_SEEDS,
    ONE_TRAINING,
    Row,
    Verdict,
    adjust,
    judge,
    seed_caveats,
    seed_rows,
)
from fer_lightning.runs.files import PAPER_METHOD

AGAIN = "Measure again with `fer-lightning focus`."


@hypothesis("H2", TwoModels, by_default=True)
def focus(asked: TwoModels, evidence: Evidence) -> list[Verdict]:
    """Judge at each fraction; all fractions and all methods that decide are one family."""
    models = (asked.first, asked.second)
    passed = passed_methods(evidence, models)
    judged = list(dict.fromkeys([PAPER_METHOD, *passed]))
    fractions = sorted(evidence.fractions)
    family = Family(len(judged) * max(len(fractions), 1), evidence.alpha)
    decided = {
        (method, fraction): found
        for fraction in fractions
        for method in judged
        if (
            found := decide(
                method,
                evidence.methods[method],
                [(model, fraction) for model in models],
                evidence.seeds,
                family,
            )
        )
    }
    rows = adjust([one.row for one in decided.values()], family.tests)
    beside = adjust([one.trainings_row for one in decided.values()], family.tests)
    adjusted = {
        key: one._replace(row=row, trainings_row=of_trainings)
        for (key, one), row, of_trainings in zip(decided.items(), rows, beside, strict=True)
    }
    return [
        _AtFraction(evidence, models, fraction, family, passed).verdict(
            {method: one for (method, at), one in adjusted.items() if at == fraction}
        )
        for fraction in fractions
    ]


def passed_methods(evidence: Evidence, models: tuple[str, str]) -> list[str]:
    """Return the measured methods that passed the truth test for both architectures."""
    return [
        method
        for method, found in evidence.methods.items()
        if {model for model, _, _ in found} >= {*models}
        and all(
            evidence.truth.passed(architecture, method, DECIDING)
            for architecture in architectures(evidence, models)
        )
    ]


def architectures(evidence: Evidence, models: tuple[str, str]) -> list[str]:
    """Return the networks' own names for the study's models."""
    cells = [cell for found in evidence.methods.values() for cell in found.values()]
    own = {cell.model: cell.architecture for cell in cells if cell.architecture}
    return [own.get(model, model) for model in models]


class _AtFraction:
    """All that one verdict needs, at one fraction."""

    def __init__(
        self,
        evidence: Evidence,
        models: tuple[str, str],
        fraction: float,
        family: Family,
        passed: Sequence[str],
    ) -> None:
        self.evidence, self.models, self.family = evidence, models, family
        self.groups: list[Group] = [(model, fraction) for model in models]
        self.passed = passed
        self.architectures = architectures(evidence, models)
        self.regions = regions_of(evidence.focus or next(iter(evidence.others.values()), {}))
        self.statement = (
            f"{models[0]} looks more at {self._region()} than {models[1]} at "
            f"{100 * fraction:g} % of the training data"
        )

    def verdict(self, decided: Mapping[str, Decided]) -> Verdict:
        """Bring everything together, given the deciding measure by method."""
        judged = list(dict.fromkeys([PAPER_METHOD, *self.passed]))
        checks = {
            method: check(
                method, self._found(method), self.groups, self.evidence.seeds, self.family
            )
            for method in judged
        }
        nulls = {method: self._nulls(method, one) for method, one in decided.items()}
        arbiter = self._arbiter()
        looks = {
            method: self._look(method, one, checks[method], nulls[method], arbiter)
            for method, one in decided.items()
        }
        conclusion = self._conclusion(looks)
        rows = [row for one in decided.values() for row in (one.row, one.trainings_row)]
        for method, one in decided.items():
            name = f"{one.row['comparison']}"
            several = seed_rows(name, one.comparison, one.seeds, "")
            rows += [row | {"method": method} for row in several]
        rows += [one.row for several in checks.values() for one in several.values()]
        rows += self._unpassed_rows()
        rows += [row for several in nulls.values() for one in several for row in one.rows]
        rows += [] if arbiter is None else arbiter.rows
        return Verdict(
            "H2",
            self.statement,
            conclusion.outcome,
            conclusion.sentence,
            rule(self.family),
            rows,
            self._caveats(looks, checks, nulls, arbiter),
            missing_cells(self.evidence.focus, self.groups, self.evidence.seeds),
            conclusion.kind,
        )

    def _conclusion(self, looks: Mapping[str, Look]) -> Conclusion:
        """Say what is missing, or follow the rule."""
        believed = [looks[name] for name in self.passed if name in looks and self._whole(name)]
        lacking = self._lacking(looks, believed)
        if not lacking and any(one.decided.comparison.seeds == 1 for one in believed):
            text = f"{ONE_TRAINING} For these: {say(list(looks.values()))}. {MORE_SEEDS}"
            return Conclusion("undecided", "missing", text)
        if not lacking:
            names = [one.method for one in believed]
            tested = (self.evidence.truth.data(self.architectures, m, DECIDING) for m in names)
            sets = dict.fromkeys(data for several in tested for data in several)
            return conclude(looks[PAPER_METHOD], believed, list(sets))
        sentences = [f"Missing: {'; '.join(lacking)}."]
        if self._cells(PAPER_METHOD):
            sentences.append(AGAIN)
        if looks:
            sentences.append(f"So far, {say(list(looks.values()))}.")
        return Conclusion("undecided", "missing", " ".join(sentences))

    def _lacking(self, looks: Mapping[str, Look], believed: Sequence[Look]) -> list[str]:
        """Name the cells and measurements without which nothing is decided."""
        paper = self.evidence.focus
        cells = missing_cells(paper, self.groups, self.evidence.seeds)
        found = [", ".join(cells)] if cells else []
        if self._cells(PAPER_METHOD):
            if PAPER_METHOD not in looks:
                found.append(
                    "the mass ratio of single images on one grid (they were measured before it "
                    "was kept, or at the maps' own grids only)"
                )
            if not believed:
                found.append(self._nobody_believed())
            found += self._regions_lacking(believed)
        return found

    def _nobody_believed(self) -> str:
        """Say that no method that passed was measured, and what became of those that were."""
        both = " and ".join(self.architectures)
        known = [name for name in self.passed if not self._whole(name)]
        if known:
            return f"{known[0]}, which passed the truth test, for all of these cells"
        tested = {m: self._tested(m) for m in self.evidence.methods if self._measured(m)}
        told = ", ".join(f"{name_of(name)} {word}" for name, word in tested.items())
        return f"a method that passed the truth test for {both} (measured: {told})"

    def _tested(self, method: str) -> str:
        passed = [self.evidence.truth.passed(a, method, DECIDING) for a in self.architectures]
        if False in passed:
            return "did not pass"
        return "was never tested" if None in passed else "passed"

    def _regions_lacking(self, believed: Sequence[Look]) -> list[str]:
        """Say where regions are a template's only."""
        for method in dict.fromkeys([PAPER_METHOD, *(one.method for one in believed)]):
            for cell in self._cells(method):
                if not cell.per_image.any():
                    origin = "a template's"
                    if cell.regions_from is None:
                        origin = "not recorded; without landmarks a template's"
                    return [
                        f"regions of each image's own (those of {cell.model} by {name_of(method)} "
                        f"are {origin})"
                    ]
        return []

    def _look(
        self,
        method: str,
        decided: Decided,
        checks: Mapping[str, Check],
        nulls: Sequence[NullComparison],
        arbiter: Arbitration | None,
    ) -> Look:
        """Say what a method says, and what speaks against it."""
        answer = judge(decided.comparison, float(decided.row["p_bonferroni"]), self.family.alpha)
        side = {"supported": 1, "not supported": -1, "undecided": 0}[answer]
        if not side:
            return Look(method, decided, 0, [])
        leader = 0 if side > 0 else 1
        name, doubts = self.models[leader], []
        zeros_out = checks.get(ZEROS_OUT)
        if sum(decided.zero_maps) and (zeros_out is None or zeros_out.interval.side != side):
            doubts.append(Doubt("contradiction", "it is another with zero maps left out"))
        above = nulls[leader].above_twins
        if above is None:
            doubts.append(Doubt("missing", "there are no untrained twins to compare with"))
        elif not above:
            doubts.append(Doubt("contradiction", f"{name} is not above its own untrained twins"))
        if arbiter is None:
            text = "nobody asked the arbiter (what hiding costs centred logits)"
            doubts.append(Doubt("missing", text))
        elif arbiter.contradicts[leader]:
            doubts.append(Doubt("contradiction", "hiding the region contradicts it"))
        return Look(method, decided, side, doubts)

    def _found(self, method: str) -> Mapping[Key, Focus]:
        return self.evidence.methods[method]

    def _measured(self, method: str) -> bool:
        """Whether a method was measured for both models at this fraction."""
        there = {key[:2] for key in self._found(method)}
        return all(group in there for group in self.groups)

    def _whole(self, method: str) -> bool:
        return not missing_cells(self._found(method), self.groups, self.evidence.seeds)

    def _cells(self, method: str) -> list[Focus]:
        return [cell for key, cell in self._found(method).items() if key[:2] in self.groups]

    def _nulls(self, method: str, decided: Decided) -> list[NullComparison]:
        found = self._found(method)
        return [
            compare_with_nulls(
                group[0], [found[*group, seed] for seed in decided.seeds], self.family.alpha
            )
            for group in self.groups
        ]

    def _arbiter(self) -> Arbitration | None:
        """Ask the arbiter; it knows no maps, so the first method's table that has it will do."""
        for found in self.evidence.methods.values():
            seeds = [s for s in self.evidence.seeds if all((*g, s) in found for g in self.groups)]
            if seeds and (asked := ask_arbiter(found, self.groups, seeds, self.family.alpha)):
                return asked
        return None

    def _unpassed_rows(self) -> list[Row]:
        """Put the deciding measure of the methods that do not decide beside, without a p."""
        rows: list[Row] = []
        for method in self.evidence.methods:
            if method in (PAPER_METHOD, *self.passed):
                continue
            found = decide(
                method, self._found(method), self.groups, self.evidence.seeds, self.family
            )
            if found:
                rows.append({k: v for k, v in found.told.items() if k not in ("p", "test")})
                rows[-1]["kind"] = "check"
        return rows

    def _region(self) -> str:
        """Name the primary region in a sentence: "the key regions" of a face, "the defect"."""
        several = len(self.regions.members(self.regions.primary)) > 1
        return f"the {self.regions.primary}{' regions' if several else ''}"

    def _caveats(
        self,
        looks: Mapping[str, Look],
        checks: Mapping[str, Mapping[str, Check]],
        nulls: Mapping[str, Sequence[NullComparison]],
        arbiter: Arbitration | None,
    ) -> list[str]:
        """Say what a reader must know beside the verdict."""
        found = [] if not looks else seed_caveats(next(iter(looks.values())).decided.comparison, "")
        for method, look in looks.items():
            found += self._of_maps(look, checks[method])
            for model, one in zip(self.models, nulls[method], strict=True):
                if one.above_twins is False:
                    found.append(
                        f"{model} looks there no more than untrained twins of it do, by "
                        f"{name_of(method)}."
                    )
                if one.above_blobs is False:
                    found.append(
                        f"A blob of heat at the image's centre, which knows nothing, reaches "
                        f"{model}'s mass ratio by {name_of(method)}."
                    )
        if arbiter is not None and not arbiter.depends[0]:
            found.append(
                f"Hiding the region does not clearly cost {self.models[0]} more than hiding as "
                "many pixels at random."
            )
        for method in self.evidence.methods:
            if method not in self.passed and self._measured(method):
                found.append(
                    f"{name_of(method)} {self._tested(method)} in the truth test for "
                    f"{' and '.join(self.architectures)}: alone it decides nothing."
                )
        return found

    def _of_maps(self, look: Look, checks: Mapping[str, Check]) -> list[str]:
        """Speak of zero maps, images left out, and measures that point elsewhere."""
        name, comparison, found = name_of(look.method), look.decided.comparison, []
        maps = comparison.n * len(look.decided.seeds)
        for model, zero in zip(self.models, look.decided.zero_maps, strict=True):
            if zero:
                found.append(f"{zero} of {maps} {name} maps of {model} are zero and count as 1.")
        if comparison.excluded:
            found.append(
                f"{comparison.excluded} of {maps} pairs are left out because the image's regions "
                "are a template's."
            )
        side = comparison.shown.side
        native = checks.get(NATIVE)
        if native and native.interval.side != side:
            row = native.row
            found.append(
                f"On each {name} map's own grid the answer is another ({row['estimate']:+.3f}, "
                f"{row['low']:+.3f} to {row['high']:+.3f}): resolution decides it."
            )
        turned = [
            str(one.row["comparison"])
            for key, one in checks.items()
            if key != NATIVE and side and one.interval.side == -side
        ]
        if turned:
            found.append(f"By {name}, these point the other way: {'; '.join(turned)}.")
        return found
