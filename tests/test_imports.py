"""Who may import whom: the table in the README, checked on the source."""

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "fer_lightning"
EVERYBODY = {"errors", "keys", "data.labels"}
ALLOWED = {
    "errors": set(),
    "shipped": {"shipped"},
    "keys": set(),
    "data": {"data"},
    "models": {"models"},
    "metrics": {"metrics"},
    "lit": {"lit", "models", "metrics"},
    "attribution": {"attribution", "models"},
    "controls": {"controls", "attribution", "metrics", "models", "data.regions"},
    "plots": {"plots"},
    "tracking": {"tracking"},
    "dashboard": {"dashboard", "tracking"},
    "callbacks": {"callbacks", "data", "models", "lit", "attribution", "metrics", "controls"}
    | {"plots", "tracking"},
    "processes": {"processes"},
    "study": {"study", "shipped", "processes", "metrics", "plots", "tracking"},
    "sweep": {"sweep", "study", "processes", "plots", "tracking"},
}


def imports(path):
    """Yield what a file imports of ours at run time, without the package's name."""
    tree = ast.parse(path.read_text())
    for_types = {
        id(node)
        for block in ast.walk(tree)
        if isinstance(block, ast.If) and "TYPE_CHECKING" in ast.unparse(block.test)
        for node in ast.walk(block)
    }
    for node in ast.walk(tree):
        if id(node) in for_types:
            continue
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("fer_lightning"):
            inside = node.module.removeprefix("fer_lightning").strip(".")
            yield from ([inside] if inside else [alias.name for alias in node.names])
        if isinstance(node, ast.Import):
            yield from (
                alias.name.removeprefix("fer_lightning.")
                for alias in node.names
                if alias.name.startswith("fer_lightning.")
            )


FILES = [
    path
    for path in sorted(PACKAGE.rglob("*.py"))
    if path.relative_to(PACKAGE).parts[0].removesuffix(".py") in ALLOWED
]


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_point_down(path):
    layer = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    allowed = ALLOWED[layer] | (EVERYBODY if layer not in ("errors", "keys") else set())
    for name in imports(path):
        if name == "__version__":
            continue
        within = {name, ".".join(name.split(".")[:2]), name.split(".")[0]}
        assert within & allowed, f"{path.name} imports {name}"


def test_only_tracking_imports_wandb():
    importing = {
        path.relative_to(PACKAGE).parts[0]
        for path in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if (
            isinstance(node, ast.Import)
            and any(a.name.split(".")[0] == "wandb" for a in node.names)
        )
        or (isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "wandb")
    }
    assert importing == {"tracking"}
