"""pyproject.toml declares every package that the code imports, and no other."""

import ast
import re
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]
DISTRIBUTIONS = {  # where the name to import is not that to install
    "cv2": "opencv-python-headless",
    "PIL": "pillow",
    "google": "protobuf",
    "sklearn": "scikit-learn",
    "yaml": "pyyaml",
}
AHEAD = {"captum", "onnxscript"}  # classes that the user hands over; what torch's exporter imports
TOOLS = {"pytest-xdist", "hatchling", "playwright"}  # no import statement of the tests names them
OURS = {"fer_lightning", "benchmarks"}


def normal(name):
    """Write the name of a distribution as package indexes do."""
    return re.sub(r"[-_.]+", "-", name).lower()


def declared(requirements):
    return {normal(re.match(r"[\w.-]+", one)[0]) for one in requirements}


def third_party(node):
    """Yield what an import statement needs to have installed."""
    if isinstance(node, ast.Import):
        modules = [alias.name for alias in node.names]
    elif isinstance(node, ast.ImportFrom) and not node.level:
        modules = [node.module]
    else:
        modules = []
    for module in (name.split(".")[0] for name in modules):
        if module not in sys.stdlib_module_names | OURS:
            yield normal(DISTRIBUTIONS.get(module, module))


def imported(folder):
    """Return distribution → files that import it."""
    found = {}
    for path in sorted(folder.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            for name in third_party(node):
                found.setdefault(name, set()).add(str(path.relative_to(ROOT)))
    return found


PACKAGE = imported(ROOT / "fer_lightning")
NEEDED = declared(PROJECT["dependencies"])
OPTIONAL = declared(
    one for name in ("workspace", "ray", "captum", "demo", "export") for one in EXTRAS[name]
)


@pytest.mark.parametrize("name", sorted(PACKAGE))
def test_what_is_imported_is_declared(name):
    assert name in NEEDED | OPTIONAL, f"declare {name}, which {PACKAGE[name]} import"


@pytest.mark.parametrize("name", sorted(NEEDED | OPTIONAL))
def test_what_is_declared_is_imported(name):
    assert (name in PACKAGE) != (name in AHEAD), f"{name} is imported by {PACKAGE.get(name)}"


def test_optional_packages_are_imported_when_they_are_needed():
    for path in sorted((ROOT / "fer_lightning").rglob("*.py")):
        for node in ast.parse(path.read_text()).body:
            assert not OPTIONAL & {*third_party(node)}, f"{path} cannot be imported without extras"


def test_the_tests_import_what_their_extra_declares():
    own = {path.stem for path in (ROOT / "tests").rglob("*.py")}
    own |= {path.name for path in (ROOT / "tests").rglob("*") if path.is_dir()}
    own.add("my_nets")  # a module that a test writes
    known = NEEDED | declared(EXTRAS["test"]) | {normal(name) for name in own}
    found = imported(ROOT / "tests")
    assert {name: files for name, files in found.items() if name not in known} == {}
    assert declared(EXTRAS["test"]) - {*found} - AHEAD - TOOLS - OPTIONAL == set()


def test_the_lock_file_has_what_is_declared():
    pinned = {}
    for line in (ROOT / ".ci" / "lock.txt").read_text().splitlines():
        assert "://" not in line, "addresses do not belong here"
        if found := re.match(r"([\w.-]+)==([\w.+!-]+)", line):
            pinned.setdefault(normal(found[1]), []).append(found[2])
    extras = ("test", "demo", "export", "docs", "dev")
    for text in [*PROJECT["dependencies"], *(one for name in extras for one in EXTRAS[name])]:
        wanted = Requirement(text)
        if normal(wanted.name) != "fer-lightning":
            versions = pinned.get(normal(wanted.name), [])
            assert versions, f"make .ci/lock.txt anew: {wanted.name} is not in it"
            assert all(wanted.specifier.contains(one, prereleases=True) for one in versions), text
