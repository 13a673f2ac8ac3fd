"""What a report says, section by section."""

from collections.abc import Callable

from fer_lightning.errors import UserError
from fer_lightning.hypotheses import Verdict
from fer_lightning.report.content import Report, Section, Text
from fer_lightning.report.parts import about, percent
from fer_lightning.report.sections.accuracy import accuracy
from fer_lightning.report.sections.calibration import calibration
from fer_lightning.report.sections.confusion import confusion
from fer_lightning.report.sections.cost import cost
from fer_lightning.report.sections.data import data
from fer_lightning.report.sections.embedding import embedding
from fer_lightning.report.sections.focus import focus
from fer_lightning.report.sections.gallery import gallery
from fer_lightning.report.sections.learning import learning
from fer_lightning.report.sections.reproduce import reproduce
from fer_lightning.report.sections.summary import summary
from fer_lightning.report.sections.verdicts import judged, verdict_details
from fer_lightning.runs.collection import Collection

Make = Callable[[Collection], Section]


def compose(collection: Collection, faces: bool = True) -> Report:
    """Write the report of a study, of some runs, or of a single run.

    What a folder does not have is named and left out.

    Args:
        collection: finished runs, at least one.
        faces: show faces, which may not be published with every data set.

    Raises:
        UserError: there is no run.
    """
    if not collection.runs:
        found = "; ".join(f"{path}: {why}" for path, why in collection.left_out.items())
        raise UserError(
            "expected at least one finished run to report on but found none"
            f"{f' ({found[:500]})' if found else ''}; let a fit come to its end first"
        )
    verdicts, why = _judged(collection)
    makers: dict[tuple[str, str], Make] = {
        ("summary", "Summary"): lambda runs: summary(runs, verdicts, why),
        ("data", "Data and leakage"): data,
        ("accuracy", "Accuracy against training data"): accuracy,
        ("learning", "Learning curves"): learning,
        ("focus", "Where the models look"): focus,
        ("gallery", "Grad-CAM of the same faces"): lambda runs: gallery(runs, faces),
        ("embedding", "Features of the test images"): lambda runs: embedding(runs, faces),
        ("confusion", "Confusion"): confusion,
        ("calibration", "Calibration"): calibration,
        ("cost", "Cost"): cost,
        ("verdicts", "The verdicts in detail"): lambda _: verdict_details(verdicts),
        ("reproduce", "How to reproduce"): reproduce,
    }
    sections = tuple(_made(*names, make, collection) for names, make in makers.items())
    return Report(_title(collection), _subtitle(collection), sections)


def _judged(collection: Collection) -> tuple[list[Verdict], str]:
    """Judge the hypotheses; where that is impossible, say why."""
    try:
        return judged(collection), ""
    except UserError as error:
        return [], str(error)


def _made(name: str, title: str, make: Make, collection: Collection) -> Section:
    """Make a section; a damaged file costs no more than the part that needs it."""
    try:
        return make(collection)
    except UserError as error:
        return Section(name, title, (Text(f"This part is left out: {error}", "note"),))


def _title(collection: Collection) -> str:
    if len(collection.runs) == 1:
        run = collection.runs[0]
        return f"{run.model}, {percent(run.fraction)} of the training data, seed {run.seed}"
    name = collection.study.get("title") or collection.study.get("name")
    return str(name) if name else f"{', '.join(collection.models)} compared"


def _subtitle(collection: Collection) -> str:
    runs = len(collection.runs)
    return (
        f"{about(collection)}: {runs} run{'s' if runs != 1 else ''}, "
        f"{', '.join(percent(fraction) for fraction in collection.fractions)} of the training "
        f"data, seed{'s' if len(collection.seeds) != 1 else ''} "
        f"{', '.join(map(str, collection.seeds))}"
    )
