"""How to get the same numbers: commands, versions, fingerprints, hardware."""

from collections.abc import Mapping

from fer_lightning.report.content import Item, Table, Text
from fer_lightning.report.sections.registry import Material, section
from fer_lightning.report.sections.summary import substitutions
from fer_lightning.runs.collection import Collection
from fer_lightning.runs.provenance import scrub
from fer_lightning.runs.run import Run


@section("reproduce", "How to reproduce", place=120)
def reproduce(material: Material) -> list[Item]:
    """Tell how every run was made; file names stand without their folders."""
    collection = material.runs
    made = substitutions([run.summary for run in collection.runs], about_data=False)
    items: list[Item] = [*made, Text(_how(collection)), _runs(collection), _versions(collection)]
    if collection.left_out:
        items.append(_left_out(collection))
    return items


def _how(collection: Collection) -> str:
    name = collection.study.get("file") or collection.study.get("path")
    again = "`fer-lightning report FOLDER` rebuilds this report from the run folders."
    if name:
        return f"`fer-lightning study {scrub(str(name))}` makes all runs. {again}"
    return f"Each run is made by the command in its row. {again}"


def _runs(collection: Collection) -> Table:
    rows = tuple(
        (
            run.shown_as,
            str(scrub(str(run.summary.get("command", "")))),
            _text(run, "started"),
            _text(run, "code"),
            _text(run, "hardware"),
            run.fingerprint,
            run.identity or None,
        )
        for run in collection.runs
    )
    return Table(
        "runs",
        "The command, code, hardware and data of every run.",
        ("run", "command", "started", "code", "hardware", "data fingerprint", "identity"),
        rows,
        (
            "A + after the code's commit: it was changed. Give your own paths where a command "
            "names a file.",
        ),
    )


def _text(run: Run, name: str) -> str | None:
    value = run.summary.get(name)
    return None if value is None else str(value)


def _versions(collection: Collection) -> Table:
    """One row per package; several versions where runs differ."""
    found: dict[str, dict[str, None]] = {}
    for run in collection.runs:
        versions = run.summary.get("versions")
        for name, version in (versions if isinstance(versions, Mapping) else {}).items():
            found.setdefault(str(name), {})[str(version)] = None
    rows = tuple((name, ", ".join(several)) for name, several in found.items())
    return Table("versions", "Versions that decide numbers.", ("package", "version"), rows)


def _left_out(collection: Collection) -> Table:
    return Table(
        "left_out",
        "Folders that were found and not used.",
        ("folder", "why"),
        tuple((str(scrub(folder)), str(scrub(why))) for folder, why in collection.left_out.items()),
    )
