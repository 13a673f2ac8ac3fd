"""All comparisons of data path and training as one table.

python -m benchmarks.run                     (about ten minutes on two idle cores)
python -m benchmarks.run data_path vit_step  (some of them)
"""

import logging
import platform
import sys
import warnings
from importlib import import_module

import torch

from benchmarks.harness import print_table

PARTS = (
    "data_path",
    "training_step",
    "host_overhead",
    "vit_step",
    "linear",
    "share_of_limit",
    "threads",
    "start",
    "csv_reading",
    "regions",
    "focus_methods",
    "study_statistics",
    "report_rebuild",
    "exported",
)


def main(wanted: list[str]) -> None:
    logging.getLogger("lightning.pytorch").setLevel(logging.WARNING)
    warnings.filterwarnings("ignore")
    rows = [row for part in wanted for row in import_module(f"benchmarks.{part}").measure()]
    hardware = f"{platform.machine()} CPU, {torch.get_num_threads()} threads"
    print(f"\n{hardware}, torch {torch.__version__}\n")
    print_table(rows)


if __name__ == "__main__":
    main(sys.argv[1:] or list(PARTS))
