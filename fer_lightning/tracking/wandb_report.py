"""A study as one run on Weights & Biases: the tables, figures and page of its report."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import wandb

from fer_lightning.tracking.wandb import choose_mode

Rows = tuple[Sequence[str], Sequence[Sequence[Any]]]  # columns, and rows below them


def log_report(
    project: str,
    name: str,
    tables: Mapping[str, Rows],
    figures: Sequence[Path],
    page: Path,
) -> str:
    """Log a report as a run of its own, online where a key is configured, otherwise offline.

    Args:
        project: on W&B.
        name: of the run.
        tables: by name.
        figures: PNG files, shown under their stems.
        page: report.html, shown whole; the run's files lie beside it in ``wandb/``.

    Returns:
        Where the run is: its address, or how to upload it.
    """
    mode = choose_mode("auto")
    run = wandb.init(
        project=project,
        name=name,
        job_type="report",
        dir=page.parent,
        mode=mode,
        settings=wandb.Settings(init_timeout=30, silent=mode != "online"),
    )
    code = 1
    try:
        shown: dict[str, Any] = {
            f"tables/{key}": wandb.Table(
                list(columns), [list(row) for row in rows], allow_mixed_types=True
            )
            for key, (columns, rows) in tables.items()
        }
        shown |= {f"figures/{path.stem}": wandb.Image(str(path)) for path in figures}
        run.log(shown | {"report": wandb.Html(page.read_text(encoding="utf-8"), inject=False)})
        code = 0
    finally:
        run.finish(exit_code=code)
    if mode == "online":
        return f"W&B: {run.url}"
    return f"W&B {mode}; to upload it later: wandb sync {page.parent}/wandb/offline-run-*"
