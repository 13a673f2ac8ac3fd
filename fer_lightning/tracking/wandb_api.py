"""Weights that lie on W&B as an artifact, fetched without trusting what it says about itself."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

import wandb

from fer_lightning.errors import UserError
from fer_lightning.tracking.wandb import (
    Mode,
    bounded,
    check_online,
    choose_mode,
    end_service,
    one_line,
)

NAME = re.compile(r"[\w.-]+/[\w.-]+/[\w.-]+(:[\w.-]+)?")
ENDINGS = (".ckpt", ".safetensors", ".pt", ".pth")
MOST_BYTES = 4 * 2**30
ANSWER = 30  # seconds for the server to answer
OTHERWISE = "or give a file with --model.transfer.weights"


class Fetched(NamedTuple):
    """A file of weights and where it came from."""

    path: Path
    name: str  # with the version that the alias meant
    digest: str


def fetch_weights(name: str, folder: Path) -> Fetched:
    """Fetch the one file of weights of an artifact."""
    if not NAME.fullmatch(name):
        raise UserError(
            f"expected an artifact as ENTITY/PROJECT/NAME:ALIAS but got '{name}'; copy its full "
            f"name from its page on W&B, {OTHERWISE}"
        )
    if choose_mode("auto") != "online":
        raise UserError(
            f"expected a W&B key to fetch {name} with but got none, or W&B is switched off; "
            f"see wandb login, {OTHERWISE}"
        )
    try:
        check_online(look_for_key=False)
        artifact = wandb.Api(timeout=ANSWER).artifact(name if ":" in name else f"{name}:latest")
        entry = artifact.get_entry(choose_file(artifact.manifest.entries, name).path)
        path = Path(entry.download(root=str(folder)))
    except (wandb.errors.Error, OSError, TimeoutError) as error:
        raise UserError(
            f"expected to fetch {name} from W&B but cannot ({one_line(error)}); "
            f"check its name and your access to it, {OTHERWISE}"
        ) from error
    if path.stat().st_size > MOST_BYTES:
        path.unlink()
        raise UserError(_too_large(entry.path, name))
    version = f"{artifact.qualified_name.partition(':')[0]}:{artifact.version}"
    return Fetched(path, version, artifact.digest)


def choose_file(entries: Mapping[str, Any], name: str) -> Any:
    """Return the entry of a manifest that is a file of weights."""
    found = [entry for path, entry in entries.items() if path.endswith(ENDINGS)]
    if len(found) != 1:
        held = ", ".join([*entries][:5]) or "nothing"
        raise UserError(
            f"expected one file of weights ({', '.join(ENDINGS)}) in {name} but it holds {held}; "
            f"choose an artifact of type model, {OTHERWISE}"
        )
    (entry,) = found
    path = PurePosixPath(entry.path)
    if path.is_absolute() or ".." in path.parts or "\\" in entry.path or entry.ref is not None:
        raise UserError(
            f"expected a file inside of {name} but got one elsewhere ({entry.ref or entry.path}); "
            f"fetch it yourself if you trust it, {OTHERWISE}"
        )
    if entry.size is None or entry.size > MOST_BYTES:
        raise UserError(_too_large(entry.path, name))
    return entry


def _too_large(path: str, name: str) -> str:
    return (
        f"expected weights of at most {MOST_BYTES // 2**30} GB but {path} in {name} is larger; "
        f"fetch it yourself if you trust it, {OTHERWISE}"
    )


# --- A study as one run on Weights & Biases: the tables, figures and page of its report


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
        end_service()  # it would still hold what it began online
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
