"""The sections of a report, one file each, which registers it; all of them are imported here."""

from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

for _module in iter_modules([str(Path(__file__).parent)]):
    import_module(f"fer_lightning.report.sections.{_module.name}")
