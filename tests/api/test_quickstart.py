"""The notebook runs from top to bottom and shows a face, its maps and the table."""

import json
import os
import subprocess
import sys
from pathlib import Path

NOTEBOOK = Path(__file__).parents[2] / "docs" / "quickstart.ipynb"
SHOW = '''
import ast, sys
from pathlib import Path
def run_cell(number, source, names):
    """Run a cell as a notebook does: the value of its last expression is its output."""
    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, f"cell {number}", "exec"), names)
    if last is None:
        return
    value = eval(compile(ast.Expression(last.value), f"cell {number}", "eval"), names)
    if hasattr(value, "_repr_png_"):
        Path(f"cell_{number}.png").write_bytes(value._repr_png_())
    text = value._repr_html_() if hasattr(value, "_repr_html_") else repr(value)
    Path(f"cell_{number}.txt").write_text(text or "")
names = {}
for number, source in enumerate(json.loads(sys.argv[1])):
    run_cell(number, source, names)
'''


def cells(kind):
    notebook = json.loads(NOTEBOOK.read_text())
    return [cell for cell in notebook["cells"] if cell["cell_type"] == kind]


def test_outputs_are_stripped():
    assert all(not cell["outputs"] for cell in cells("code"))
    assert all(cell["execution_count"] is None for cell in cells("code"))


def test_every_cell_runs(tmp_path):
    sources = ["".join(cell["source"]) for cell in cells("code")]
    command = [sys.executable, "-c", f"import json\n{SHOW}", json.dumps(sources)]
    plain = os.environ | {"MPLBACKEND": "Agg", "TMPDIR": str(tmp_path)}
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=plain)
    assert done.returncode == 0, done.stderr
    shown = {path.name: path for path in tmp_path.glob("cell_*")}
    pictures = [path for path in shown.values() if path.suffix == ".png"]
    assert len(pictures) == 1
    assert pictures[0].stat().st_size > 20_000
    tables = [path.read_text() for path in shown.values() if path.suffix == ".txt"]
    (focus,) = [text for text in tables if "lfr_median" in text]
    assert all(word in focus for word in ("<table", "grad_cam", "occlusion", "untrained"))
    assert any("val/acc" in text for text in tables)
    assert any("Run(cnn-100pct-seed42" in text for text in tables)
