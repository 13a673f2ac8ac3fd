"""A study as one run on Weights & Biases: the tables, figures and page of its report."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import wandb

from fer_lightning.tracking.wandb import Mode, bounded, check_online, choose_mode, one_line

END = 120  # seconds for the last of a report: its page alone may have megabytes
Rows = tuple[Sequence[str], Sequence[Sequence[Any]]]  # columns, and rows below them


def log_report(
    project: str,
    name: str,
    tables: Mapping[str, Rows],
    figures: Sequence[Path],
    page: Path,
) -> str:
    """Log a report as a run of its own, online where a key is configured, otherwise offline.

    Returns:
        Where the run is: its address, or how to upload it.
    """
    mode, why = choose_mode("auto"), ""
    try:
        run = _start(project, name, page, mode)
    except (wandb.errors.Error, OSError) as error:
        if mode != "online":
            raise
        mode, why = "offline", f" ({one_line(error)})"
        wandb.teardown()  # it would still hold what it began online
        run = _start(project, name, page, mode)
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
        late = ""
        try:
            run.finish(exit_code=code)
        except Exception as error:  # such as the TimeoutError of a server that is gone
            late = one_line(error) or type(error).__name__
    if late:
        again = f"wandb sync --include-online {run.settings.sync_dir}"
        return f"W&B did not take all of the report ({late}); to upload it later: {again}"
    if mode == "online":
        return f"W&B: {run.url}"
    return f"W&B {mode}{why}; to upload it later: wandb sync {page.parent}/wandb/offline-run-*"


def _start(project: str, name: str, page: Path, mode: Mode) -> Any:
    """Begin the run; a server that is gone is an error within seconds."""
    if mode == "online":
        check_online(look_for_key=False)
    return wandb.init(
        project=project,
        name=name,
        job_type="report",
        dir=page.parent,
        mode=mode,
        settings=bounded(mode, END),
    )
