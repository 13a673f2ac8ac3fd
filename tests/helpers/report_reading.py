"""Finding parts of a composed report."""

from fer_lightning.report.content import Table, Text


def items(report, kind):
    return [item for section in report.sections for item in section.items if isinstance(item, kind)]


def table(report, name):
    return next(t for t in items(report, Table) if t.id == name)


def words(report):
    return " ".join(text.text for text in items(report, Text))
