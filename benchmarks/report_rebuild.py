"""Rebuilding the report of 27 runs against saving its figures alone.

python -m benchmarks.run report_rebuild        (about two minutes on two idle cores)

The runs are written by the tests' generator, with as many test images as FER-2013 has, 1,000 faces
and 200 maps; both sides are timed in the same process, in turns.
"""

import sys
import tempfile
import time
from pathlib import Path

from benchmarks.harness import Row, compare
from fer_lightning.report.compose import compose
from fer_lightning.report.write import figures, write_report
from fer_lightning.runs.collection import collect

sys.path.append(str(Path(__file__).parents[1] / "tests" / "helpers"))
from report_runs import write_run

TARGET = 3.0  # rebuilding takes at most this many times as long
IMAGES, PROBE, LOOKED, SIDE = 3589, 1000, 200, 48
MODELS, FRACTIONS, SEEDS = ("cnn", "vit", "swin"), (0.3, 0.6, 1.0), (1, 2, 3)


def measure() -> list[Row]:
    with tempfile.TemporaryDirectory() as name:
        root, out = Path(name, "runs"), Path(name, "report")
        for model in MODELS:
            for fraction in FRACTIONS:
                for seed in SEEDS:
                    sizes = {"looked": LOOKED, "side": SIDE, "epochs": 30}
                    write_run(root, model, fraction, seed, IMAGES, PROBE, **sizes)

        def saving() -> float:
            drawn = list(figures(compose(collect([root]))))
            target = Path(name, "figures")
            target.mkdir(exist_ok=True)
            began = time.perf_counter()
            for stem, figure in drawn:
                for kind in ("png", "pdf"):
                    figure.savefig(target / f"{stem}.{kind}")
            return time.perf_counter() - began

        def rebuild() -> object:
            return write_report(collect([root]), out)

        return [compare("report of 27 runs", rebuild, saving, TARGET, repeats=3)]
