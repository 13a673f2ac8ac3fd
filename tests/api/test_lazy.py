"""``import fer_lightning`` is cheap, and offers what its documentation names."""

import subprocess
import sys

import fer_lightning as fl

HEAVY = ("torch", "lightning", "numpy", "pandas", "matplotlib", "wandb")


def run(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)


def test_import_is_fast_and_imports_nothing_heavy():
    code = (
        "import time, sys; began = time.process_time(); import fer_lightning\n"
        "print(time.process_time() - began)\n"
        f"print([name for name in {HEAVY} if name in sys.modules])"
    )
    seconds, heavy = run(code).stdout.splitlines()
    assert heavy == "[]"
    assert float(seconds) < 0.1


def test_reading_a_run_imports_no_torch():
    code = (
        "import fer_lightning as fl, sys; fl.load_run, fl.load_study; print('torch' in sys.modules)"
    )
    assert run(code).stdout.strip() == "False"


def test_every_public_name_is_there():
    assert set(fl.__all__) <= set(dir(fl))
    assert all(getattr(fl, name) is not None for name in fl.__all__)
    assert callable(fl.look)
    assert not hasattr(fl, "no_such_name")


def test_look_is_the_function_and_the_package_in_any_order():
    code = (
        "import fer_lightning as fl\nimport fer_lightning.look.heat as heat\n"
        "import fer_lightning.look as package\n"
        "assert fl.look is package and callable(fl.look) and fl.look.heat is heat\n"
        "import inspect; print(inspect.signature(fl.look))"
    )
    assert "methods" in run(code).stdout
