"""What a report says, section by section."""

from fer_lightning.errors import UserError
from fer_lightning.report.content import Report
from fer_lightning.report.parts import about, percent
from fer_lightning.report.sections.registry import Material, make_sections
from fer_lightning.report.sections.verdicts import judged
from fer_lightning.runs.collection import Collection


def compose(collection: Collection, faces: bool = True) -> Report:
    """Write the report of a study, of some runs, or of a single run.

    What a folder does not have is named and left out.

    Raises:
        UserError: there is no run.
    """
    if not collection.runs:
        found = "; ".join(f"{path}: {why}" for path, why in collection.left_out.items())
        raise UserError(
            "expected at least one finished run to report on but found none"
            f"{f' ({found[:500]})' if found else ''}; let a fit come to its end first"
        )
    try:
        material = Material(collection, faces, judged(collection))
    except UserError as error:
        material = Material(collection, faces, not_judged=str(error))
    return Report(_title(collection), _subtitle(collection), make_sections(material))


def _title(collection: Collection) -> str:
    name = collection.study.get("title") or collection.study.get("name")
    if name:
        return f"Study {name}"
    if len(collection.runs) == 1:
        run = collection.runs[0]
        made = f"{run.model}, {percent(run.fraction)} of the training data, seed {run.seed}"
        return made if run.identity else f"{run.shown_as}: {made}"
    return f"{', '.join(collection.models)} compared"


def _subtitle(collection: Collection) -> str:
    runs = len(collection.runs)
    return (
        f"{about(collection)}: {runs} run{'s' if runs != 1 else ''}, "
        f"{', '.join(percent(fraction) for fraction in collection.fractions)} of the training "
        f"data, seed{'s' if len(collection.seeds) != 1 else ''} "
        f"{', '.join(map(str, collection.seeds))}"
    )
