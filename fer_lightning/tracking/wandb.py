"""Weights & Biases: online where a key is configured, offline otherwise, never in the way."""

import contextlib
import os
import socket
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit
from urllib.request import getproxies

import wandb
from lightning.pytorch.loggers import WandbLogger
from lightning.pytorch.utilities import rank_zero_only, rank_zero_warn

from fer_lightning import keys
from fer_lightning.data.labels import MOST_NAMED
from fer_lightning.runs.folder import RunFolder
from fer_lightning.tracking.tracker import disable_after_error, is_rank_zero

Mode = Literal["online", "offline", "disabled"]
BEGIN = 30  # seconds for the server to take a run
CONNECT = 5  # seconds for it to be there at all
END = 60  # seconds for the server to take a run's last data
SERVICE_END = 20  # seconds for W&B's own process to end
UPLOAD = 600  # with a checkpoint
MODEL_FILE = "model.ckpt"  # in an artifact, as `WandbLogger` calls it
COLUMNS = ("Actual", "Predicted", "nPredictions")  # of W&B's own chart of a confusion matrix
RUN, SWEEP, PROJECT = "WANDB_RUN_ID", "WANDB_SWEEP_ID", "WANDB_PROJECT"  # set by a sweep's agent
guarded = disable_after_error("W&B")


@dataclass(frozen=True)
class Wandb:
    """Where and how W&B tracks a run.

    Args:
        mode: ``auto`` is online when a key is configured, otherwise offline.
        project: name of the project.
        entity: user or team; your default one without it.
        group: name that runs belonging together share.
        tags: words to find the run by.
        log_model: upload the best checkpoint as an artifact at the end.

    In a sweep, project and entity are the sweep's, and runs without a group have the sweep's name.
    """

    mode: Literal["auto", "online", "offline", "disabled"] = "auto"
    project: str = "fer_lightning"
    entity: str | None = None
    group: str | None = None
    tags: tuple[str, ...] = ()
    log_model: bool = False


def choose_mode(mode: Literal["auto", "online", "offline", "disabled"]) -> Mode:
    """Decide ``auto``: ``WANDB_MODE`` first, then online if there is a key."""
    if mode != "auto":
        return mode
    wanted = os.environ.get("WANDB_MODE", "online")
    if wanted in ("disabled", "dryrun", "offline"):
        return "disabled" if wanted == "disabled" else "offline"
    return "online" if has_key() else "offline"


def has_key() -> bool:
    """Whether a W&B key is configured; nobody is asked for one."""
    try:
        return bool(wandb.login(prompt=False, verify=False))
    except (wandb.errors.Error, ValueError) as error:  # e.g. a key of the wrong length
        rank_zero_warn(f"The configured W&B key cannot be used: {error}")
        return False


def check_online(look_for_key: bool) -> None:
    """Find out at once that there is no key or no network; W&B itself would try for a minute."""
    if look_for_key and not has_key():
        raise OSError("no key is configured; see wandb login")
    url = wandb.setup().settings.base_url
    address = urlsplit(url)
    if getproxies() or address.hostname is None:
        return
    port = address.port or (80 if address.scheme == "http" else 443)
    try:
        socket.create_connection((address.hostname, port), timeout=CONNECT).close()
    except OSError as error:
        raise OSError(f"no connection to {url}: {error.strerror or error}") from error


def bounded(mode: Mode, end: float) -> wandb.Settings:
    """Bound how long a server that is slow, or gone, can hold up a run; the environment wins."""
    return wandb.Settings(
        init_timeout=float(os.environ.get("WANDB_INIT_TIMEOUT", BEGIN)),
        finish_timeout=float(os.environ.get("WANDB_FINISH_TIMEOUT", end)),
        finish_timeout_raises=True,
        silent=mode != "online",
    )


def end_service(seconds: float = SERVICE_END) -> None:
    """End W&B's own process, so that another run can begin with the same id.

    wandb 0.31 waits for it without a bound, also where it missed the message that it should end,
    which happens when a request was given up just before. After some seconds it is killed.
    """
    process: Any = wandb.setup()
    for name in ("_connection", "_proc", "_process"):  # wandb has no public name for it
        process = getattr(process, name, None)
    watch = threading.Timer(seconds, process.kill if process is not None else lambda: None)
    watch.daemon = True
    watch.start()
    with contextlib.suppress(SystemExit):  # how wandb tells of a process that was killed
        wandb.teardown()
    watch.cancel()


def in_sweep() -> bool:
    """Whether a sweep's agent started this process; it ends runs that it has seen enough of."""
    return bool(os.environ.get(SWEEP))


def one_line(error: Exception) -> str:
    """Return an error's message in one line."""
    return " ".join(str(error).split())


class _Nothing:
    """Takes every call and every attribute and does nothing."""

    def __getattr__(self, name: str) -> "_Nothing":
        return self

    def __call__(self, *args: Any, **kwargs: Any) -> "_Nothing":
        return self


class WandbTracker(WandbLogger):
    """`WandbLogger` with the epoch as the axis, whose failures never end a training.

    Args:
        options: where and how.
        folder: the run's; W&B writes into its ``wandb/``.
        run_id: of the run on W&B; that of ``WANDB_RUN_ID``, which an agent sets, goes first.
    """

    def __init__(self, options: Wandb, folder: RunFolder, run_id: str) -> None:
        self.failure: str | None = None
        self.log_model, self.asked_online = options.log_model, options.mode == "online"
        self._missing: list[str] = []  # what W&B did not take, for the end
        project, sweep = options.project, os.environ.get(SWEEP)
        if sweep:  # W&B itself then listens to the environment only
            project = os.environ.setdefault(PROJECT, project)
            os.environ.setdefault(RUN, run_id)
        self.mode = choose_mode(options.mode)
        super().__init__(
            name=folder.path.name,
            save_dir=folder.path,
            id=os.environ.get(RUN, run_id),
            project=project,
            entity=options.entity,
            group=options.group or (f"sweep-{sweep}" if sweep else None),
            tags=[*options.tags, *(["sweep"] if sweep else [])],
            mode=self.mode,
            resume="allow",
            settings=bounded(self.mode, UPLOAD if options.log_model else END),
        )
        # W&B's process may be an older one, started in another folder: it must not guess
        self._wandb_init["dir"] = str(folder.path.absolute())
        self._wandb_init.pop("anonymous", None)  # W&B warns of it, whatever its value
        if sweep:  # W&B takes these from the agent, and warns of others
            for name in ("project", "entity", "id"):
                self._wandb_init.pop(name)

    @property
    def place(self) -> dict[str, str | None]:
        """What a resumed run must know to be the same on W&B."""
        entity = os.environ.get("WANDB_ENTITY", self._wandb_init.get("entity"))
        return {"wandb_id": self._id, "wandb_project": self._project, "wandb_entity": entity}

    def how_to_sync(self) -> str:
        """Say in one line how W&B tracks the run."""
        return {
            "online": f"W&B tracks this run online, in project {self._project}",
            "offline": "W&B tracks this run offline (no key, or asked to); "
            f"to upload it later: {self._sync_later}",
            "disabled": "W&B is disabled for this run",
        }[self.mode]

    @property
    def _sync_later(self) -> str:
        return f"wandb sync {self._save_dir}/wandb/offline-run-*"

    @property
    def experiment(self) -> Any:
        """The W&B run, started at first use; one that swallows everything after a failure."""
        if self._experiment is None and is_rank_zero():
            self._start()
            if self._experiment is None:
                return _Nothing()
        return super().experiment

    @guarded
    def _start(self) -> None:
        """Start the run, offline if the server cannot be used; it is complete when it says so."""
        try:
            if self.mode == "online":
                check_online(self.asked_online)
            run = super().experiment
        except (wandb.errors.Error, OSError) as error:
            if self.mode != "online":
                raise
            self.mode = "offline"
            self._wandb_init |= {"mode": self.mode, "settings": bounded(self.mode, END)}
            rank_zero_warn(
                f"W&B cannot be used online ({one_line(error)}); this run is tracked "
                f"offline, to upload it later: {self._sync_later}"
            )
            end_service()  # it would still hold the id of this run
            run = super().experiment
        run.summary.update({keys.COMPLETED: False})
        run.define_metric(keys.EPOCH)
        for stage in ("train", "val", "test"):
            run.define_metric(f"{stage}/*", step_metric=keys.EPOCH)

    log_metrics = guarded(WandbLogger.log_metrics)
    log_hyperparams = guarded(WandbLogger.log_hyperparams)
    log_image = guarded(WandbLogger.log_image)
    log_table = guarded(WandbLogger.log_table)
    finalize = guarded(WandbLogger.finalize)

    @guarded
    def log_picture(self, name: str, path: Path, epoch: int) -> None:
        """Show a picture of the run folder at its epoch."""
        self.experiment.log({name: wandb.Image(str(path)), keys.EPOCH: epoch})

    @rank_zero_only
    def note_use(self, artifact: str | None) -> None:
        """Let W&B show where the run's weights come from, if it can; run.json says it too."""
        if artifact is not None and self.mode == "online":
            with contextlib.suppress(Exception):
                self.experiment.use_artifact(artifact)

    @rank_zero_only
    def log_checkpoint(self, path: Path, facts: dict[str, Any]) -> None:
        """Upload the best checkpoint, once, where the run is to.

        `WandbLogger` would also upload the last one, and none that was saved before a resumption.
        """
        if not self.log_model or self.failure is not None or not path.is_file():
            return
        try:
            artifact = wandb.Artifact(f"model-{self.version}", "model", metadata=facts)
            artifact.add_file(str(path), MODEL_FILE)
            self.experiment.log_artifact(artifact, aliases=["best", "latest"])
        except Exception as error:  # such as a server that is gone
            self._missing.append(f"not the checkpoint: {one_line(error)}")

    @guarded
    def summarise(self, numbers: dict[str, Any]) -> None:
        """Put final values into the run's summary."""
        self.experiment.summary.update(numbers)

    @rank_zero_only
    def finish(self, exit_code: int = 0) -> None:
        """End the W&B run; call it last, also after an error or a failure of W&B."""
        if self._experiment is None:
            return
        try:
            self._experiment.finish(exit_code=exit_code)
        except Exception as error:  # such as the TimeoutError of a server that is gone
            self._missing.append(one_line(error))
        if self._missing:
            name = Path(self._experiment.settings.sync_dir).name
            begun = f"{self._save_dir}/wandb/{name}"  # as the user wrote the folder
            rank_zero_warn(
                f"W&B did not take all of this run ({'; '.join(self._missing)}); to upload it "
                f"later: wandb sync --include-online {begun}"
            )

    @guarded
    def alert(self, title: str, text: str) -> None:
        """Tell the user through W&B, by mail or chat as they have set."""
        self.experiment.alert(title=title, text=text, level="WARN")

    @guarded
    def log_confusion(
        self, name: str, counts: list[list[int]], classes: Sequence[str], epoch: int
    ) -> None:
        """Show a confusion matrix (true, predicted) as a chart of W&B's own, with its table."""
        rows: list[Any] = [
            [actual, predicted, count]
            for actual, row in zip(classes, counts, strict=True)
            for predicted, count in zip(classes, row, strict=True)
            if count or len(classes) <= MOST_NAMED  # many classes make a million empty cells
        ]
        fields = {column: column for column in COLUMNS}
        table = wandb.Table([*COLUMNS], rows)
        chart = wandb.plot_table("wandb/confusion_matrix/v1", table, fields, {"title": name})
        self.experiment.log({name: chart, keys.EPOCH: epoch})
