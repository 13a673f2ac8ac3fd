"""Who may import whom: the table in docs/design.md, checked on the source."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "fer_lightning"
EVERYBODY = {"errors", "keys", "data.labels", "data.regions", "data.masks"}
EVERYBODY |= {"schema", "arrays", "screen"}
CALLBACKS = {"callbacks", "data", "models", "training", "look", "plots", "tracking", "runs"}
ALLOWED = {
    "errors": set(),
    "keys": set(),
    "data": {"data"},
    "models": {"models"},
    "training": {"training", "models"},
    "training.callbacks": CALLBACKS,
    "look": {"look", "models"},
    "look.metrics": {"look.metrics"},
    "look.callbacks": CALLBACKS,
    "callbacks": CALLBACKS,
    "plots": {"plots"},
    "runs": {"runs"},
    "statistics": {"statistics"},
    "tracking": {"tracking", "runs"},
    "shipped": {"shipped"},
    "execution": {"execution", "tracking", "runs", "shipped"},
    "hypotheses": {"hypotheses", "statistics", "runs"},
    "report": {"report", "hypotheses", "statistics", "execution", "plots", "runs"},
}
NO_TORCH = ("runs", "statistics", "hypotheses", "report", "execution")


def layer_of(path):
    """Return the longest name in ALLOWED that the file lies in, or None."""
    name = ".".join(path.relative_to(PACKAGE).with_suffix("").parts)
    fitting = [layer for layer in ALLOWED if f"{name}.".startswith(f"{layer}.")]
    return max(fitting, key=len, default=None)


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


FILES = [path for path in sorted(PACKAGE.rglob("*.py")) if layer_of(path)]


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_point_down(path):
    layer = layer_of(path)
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


@pytest.mark.parametrize("folder", NO_TORCH)
def test_folders_that_read_files_import_no_torch(folder):
    modules = [
        ".".join(("fer_lightning", *path.relative_to(PACKAGE).with_suffix("").parts))
        for path in sorted((PACKAGE / folder).rglob("*.py"))
    ]
    code = f"import importlib, sys; [importlib.import_module(m) for m in {modules}]; "
    code += "sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
