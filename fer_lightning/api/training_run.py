"""A training with its run folder: the loggers, callbacks and files around a `Classifier`.

The command line and `fer_lightning.train` both call this.
"""

import errno
import secrets
import shlex
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from shutil import disk_usage
from typing import Any, Self

import lightning as L
import torch
import yaml
from lightning.fabric.plugins import TorchCheckpointIO
from lightning.pytorch.utilities import rank_zero_only, rank_zero_warn
from lightning.pytorch.utilities.exceptions import MisconfigurationException
from rich.console import Group
from rich.table import Table
from rich.text import Text

from fer_lightning.api.run_checkpoints import RunCheckpointIO, checkpointing, newest_whole
from fer_lightning.data.datamodule import FERDataModule
from fer_lightning.data.labels import MOST_NAMED
from fer_lightning.errors import UserError
from fer_lightning.execution.threads import choose_threads
from fer_lightning.execution.training import INTERRUPTED, TERMINATED, Deadline, alone_in
from fer_lightning.keys import Stage
from fer_lightning.models.weights import tell
from fer_lightning.runs.choices import AUTO, open_choices, with_choice, with_choices_of
from fer_lightning.runs.files import FILES, read_config, read_json
from fer_lightning.runs.folder import RunFolder, atomic, new_run_folder, unfinished_run
from fer_lightning.screen import Screen, counted, say
from fer_lightning.tracking.tensorboard import MISSING, TensorBoardTracker, is_installed
from fer_lightning.tracking.tracker import MetricsCSV, is_rank_zero
from fer_lightning.tracking.wandb import Wandb, WandbTracker, in_sweep
from fer_lightning.tracking.wandb_api import Fetched, fetch_weights
from fer_lightning.training.callbacks.early_stopping import LossAlarm
from fer_lightning.training.callbacks.epoch_seed import EpochSeed
from fer_lightning.training.callbacks.progress import Progress
from fer_lightning.training.callbacks.recorder import Recorder
from fer_lightning.training.callbacks.same_everywhere import SameEverywhere
from fer_lightning.training.checkpoint import check_description, read_checkpoint
from fer_lightning.training.module import Classifier

# --- The last screen of a run: what came out and where it lies


MOST_CLASSES = 8  # side by side: seven expressions and contempt fit into 80 columns
LEAK = (
    "Note: {images} test images have an identical twin among the training images: "
    "accuracy {acc:.3f} there, {acc_others:.3f} elsewhere"
)
NEAR = LEAK.replace("an identical twin", "a twin or near-twin (the same photograph)")


def summary_table(summary: dict[str, Any], folder: str) -> Group:
    """Lay out a run's summary for the terminal."""
    numbers = Table(title=f"{summary['model']} on {summary['data']}", title_style="bold")
    for name in ("", "accuracy", "macro-F1", "NLL", "ECE (floor)", "images"):
        numbers.add_column(name, justify="left" if not name else "right")
    for stage, label in _labels(summary).items():
        found = summary.get(stage)
        if found:
            ece = f"{found['ece']:.3f} ({found['ece_floor']:.3f})"
            cells = (f"{found[name]:.3f}" for name in ("acc", "macro_f1", "nll"))
            numbers.add_row(label, *cells, ece, str(found["images"]))
    recall = (summary.get("test") or summary["val"])["recall"]
    classes, title = [*recall.items()], "recall by class"
    if len(classes) > MOST_NAMED:
        known = [(name, value) for name, value in classes if value is not None]
        classes = sorted(known, key=lambda item: item[1])[:MOST_CLASSES]
        title = f"recall of the {len(classes)} worst of {len(recall):,} classes"
    starts = range(0, len(classes), MOST_CLASSES)
    recalls = [_recall_table(dict(classes[i : i + MOST_CLASSES]), title) for i in starts]
    epochs = ""
    if summary["best_epoch"] is not None:  # counted from 0 in files and from 1 on the screen
        time = timedelta(seconds=round(summary["seconds"]))
        epochs = (
            f"{counted(summary['epochs'], 'epoch')} (best: {summary['best_epoch'] + 1}) in {time} "
        )
    twins, near = summary.get("leaking"), summary.get("near_twins")
    lines = [
        f"{summary['parameters']:,} parameters, "
        f"{summary['multiply_adds'] / 1e6:.1f} M multiply-adds per image",
        f"{epochs}on {summary['hardware'].replace(', 1 threads', ', 1 thread')}",
        *([f"Note: {'; '.join(summary['substitutions'])}"] if summary["substitutions"] else []),
        *([LEAK.format(**twins)] if twins else []),
        *([NEAR.format(**near)] if near else []),
        f"Everything lies in {folder}",
    ]
    return Group(numbers, *recalls, *map(Text, lines))


def _recall_table(recall: dict[str, float | None], title: str) -> Table:
    table = Table(title=title, title_style="")
    for name in recall:
        table.add_column(name, justify="right")
    table.add_row(*("-" if r is None else f"{r:.3f}" for r in recall.values()))
    return table


def _labels(summary: dict[str, Any]) -> dict[str, str]:
    """What each stage measured; without validation images the best epoch was chosen by the test."""
    chosen_by_test = summary.get("split", {}).get("protocol") == "train_test"
    if chosen_by_test and summary["best_epoch"] is not None:
        return {"val": "test, best epoch (optimistic)", "test": "test, last epoch"}
    return {"val": "validation", "test": "test"}


def write_page(folder: Path) -> Path:
    """Write a run's report.html; what draws it is slow to import and not needed before the end."""
    from fer_lightning.report.write import write_page as write

    return write(folder)


DISK_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
FORBIDDEN = (errno.EROFS, errno.EACCES, errno.EPERM)
NO_TEMPORARY = "No usable temporary directory"  # how Python says that it cannot write there
TRAINER_DEFAULTS: dict[str, Any] = {
    "max_epochs": 30,
    "num_sanity_val_steps": 0,
    "use_distributed_sampler": False,  # the data module's own samplers know the ranks
    "enable_model_summary": False,
}
HARMLESS = (  # warnings about what is so on purpose
    ".*does not have many workers.*",  # the data is in memory
    ".*smaller than the logging interval.*",  # logged at the end of epochs only
    ".*recommended to use .*sync_dist=True.*",  # predictions are gathered: equal on all ranks
    ".*custom batch sampler `EvalBatches`.*",  # it returns each image once
    ".*predict returned None.*",  # predictions are gathered by image
    ".*LeafSpec.*",  # Lightning's own use of torch
    ".*`srun` command is available.*",  # said on every machine with SLURM, outside of its jobs
)
OF_ANOTHER_RUN = ".*The dirpath has changed from.*"  # hidden where a checkpoint is only measured
OF_RESUMING = ".*Checkpoint directory .* exists and is not empty.*"
OF_FREEZING = r".*module\(s\) in eval mode at the start of training.*"


@contextmanager
def without_warnings(messages: Sequence[str]) -> Iterator[None]:
    """Hide warnings about what is so on purpose.

    >>> with without_warnings([".*as it should be.*"]):
    ...     warnings.warn("it is as it should be")
    """
    with warnings.catch_warnings():
        for message in messages:
            warnings.filterwarnings("ignore", message=message)
        yield


@dataclass(frozen=True)
class RunOptions:
    """What a run does beside training.

    Args:
        config: the whole configuration as YAML: the run's config.yaml.
        runs_dir: folder of run folders.
        name: of the run folder; a number is added where it is taken.
        seed: of training.
        resume: a run folder, ``same`` for the newest run of this configuration, or None for a new
            run.
        wandb: where and how W&B tracks the run.
        tensorboard: write event files for TensorBoard.
        test_after_fit: test the best checkpoint after training.
        report: write report.html after training and test.
        command: how the run was started.
        how_to_resume: the words for it, at the end of a sentence.
        quiet: print neither messages nor the summary.
    """

    config: str
    runs_dir: Path
    name: str
    seed: int
    resume: str | None = None
    wandb: Wandb = field(default_factory=Wandb)
    tensorboard: bool = True
    test_after_fit: bool = True
    report: bool = True
    command: str = field(default_factory=lambda: shlex.join(["fer-lightning", *sys.argv[1:]]))
    how_to_resume: str = "with the same command and --resume"
    quiet: bool = False

    def resolved(self, data: FERDataModule) -> "RunOptions":
        """Write out what became of copies where the configuration leaves it to the data."""
        config = yaml.safe_load(self.config)
        section = config.get("data") or {}
        if section.get("duplicates") is not None:
            return self
        return self.with_config(config | {"data": section | {"duplicates": data.duplicates}})

    def with_choices_of(self, folder: RunFolder) -> "RunOptions":
        """Take over what the run chose for itself when it was started, where it is resumed."""
        config = yaml.safe_load(self.config)
        if not open_choices(config) or not folder.config.is_file():
            return self
        return self.with_config(with_choices_of(config, read_config(folder.config)))

    def with_config(self, config: dict[str, Any]) -> "RunOptions":
        """Return the same with another configuration."""
        return replace(self, config=yaml.safe_dump(config, sort_keys=False))

    def open_folder(self) -> RunFolder:
        """Find the run folder to resume, or make a new one (on rank zero)."""
        if self.resume is not None:
            return earlier_run(self.runs_dir, self.resume, self.config)
        if is_rank_zero():
            return new_run_folder(self.runs_dir, self.name)
        return RunFolder(self.runs_dir / self.name)  # other ranks neither read nor write it


def earlier_run(root: Path, given: str, config: str) -> RunFolder:
    """Find the run to go on with.

    Args:
        root: folder of runs.
        given: a run folder, or ``same`` for the newest run of this configuration.
        config: the configuration as text.

    Raises:
        UserError: there is none.
    """
    same = given == "same"
    found = unfinished_run(root, config) if same else RunFolder(Path(given))
    if found is None or not found.config.is_file():
        raise UserError(
            "expected a run of this configuration to go on with but found none in "
            f"{root if same else given}; leave out --resume to start one"
        )
    return found


def run_facts(folder: RunFolder, options: RunOptions) -> dict[str, Any]:
    """How a run was started; a resumed run keeps its identity."""
    if options.resume is not None and folder.run.is_file():
        return read_json(folder.run)
    return {
        "run": folder.path.name,
        "wandb_id": secrets.token_hex(4),
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": options.command,
        "seed": options.seed,
    }


def why_not_written(error: OSError, folder: Path) -> str | None:
    """Say in the beginning of a sentence why a run could not write, or None if it is unknown.

    >>> print(why_not_written(OSError(errno.EROFS, "Read-only file system", "/"), Path("/")))
    expected to write into / but cannot (Read-only file system); make it writable
    """
    if not folder.is_dir():
        return f"expected the run folder {folder} but it is gone; put it back"
    temporary = NO_TEMPORARY in str(error)
    if error.errno in DISK_FULL or temporary:
        place = "the temporary folder" if temporary else full_place(folder)
        why = f"the disk is full ({error.strerror})"
        return f"expected room for the run in {place} but {why}; free some"
    if error.errno in FORBIDDEN:
        place = str(error.filename or folder)
        return f"expected to write into {place} but cannot ({error.strerror}); make it writable"
    return None


def full_place(folder: Path) -> str:
    """Name the place with less room: the run folder or the temporary folder."""
    try:
        temporary = Path(tempfile.gettempdir())
    except FileNotFoundError:  # it cannot be written at all
        return "the temporary folder"
    rooms = {place: disk_usage(place).free for place in (folder, temporary)}
    return str(min(rooms, key=rooms.__getitem__))


# --- Weights on W&B that a training starts from: fetched before the model is made, then forgotten


class StartWeights:
    """An artifact that stands for ``model.transfer.weights``.

    Args:
        name: ``ENTITY/PROJECT/NAME:ALIAS``, or None.
    """

    def __init__(self, name: str | None) -> None:
        self.name = name
        self.fetched: Fetched | None = None
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    def fetch_into(self, transfer: Any, needed: bool) -> None:
        """Fetch the weights and give them to the model as a file.

        Args:
            transfer: the options of ``model.transfer``, which are changed.
            needed: otherwise a checkpoint of the run itself has them.

        Raises:
            UserError: a file is given too, or the artifact cannot be fetched.
        """
        if self.name is None:
            return
        if transfer.weights is not None:
            raise UserError(
                "expected --from_artifact or --model.transfer.weights but got both; leave one out"
            )
        transfer.weights = self.name
        if needed:
            self._folder = tempfile.TemporaryDirectory(prefix="fer_lightning-")
            self.fetched = fetch_weights(self.name, Path(self._folder.name))
            transfer.weights = str(self.fetched.path)

    def tell_of(self, loaded: list[dict[str, Any]]) -> None:
        """Name the artifact in the reports on what was loaded, and remove the file."""
        if self.fetched is not None and self._folder is not None:
            for report in loaded:
                report |= {"file": self.fetched.name, "digest": self.fetched.digest}
            self._folder.cleanup()


# --- The run itself


class TrainingRun:
    """One run and its folder; `to_fit` and `to_measure` check their inputs before it is made.

    Args:
        module: what is trained.
        data: its data.
        options: what else is done.
        start: weights on W&B that the training starts from.
    """

    trainer: L.Trainer

    def __init__(
        self,
        module: Classifier,
        data: FERDataModule,
        options: RunOptions,
        start: StartWeights | None = None,
    ) -> None:
        options = options.resolved(data)
        self.module, self.data = module, data
        self.start = start or StartWeights(None)
        self.folder = options.open_folder()
        self.chosen: list[str] = []  # what was left to the run, a line each
        self.options = options = options.with_choices_of(self.folder)
        self._settle_threads()
        run = run_facts(self.folder, options)
        self.metrics = MetricsCSV(self.folder.metrics)
        place = {name: run.get(f"wandb_{name}") for name in ("project", "entity")}
        known = {name: value for name, value in place.items() if value}  # a sweep's may differ
        self.wandb = WandbTracker(replace(options.wandb, **known), self.folder, run["wandb_id"])
        run |= self.wandb.place
        wanted = options.tensorboard and is_installed()
        self.tensorboard = TensorBoardTracker(self.folder) if wanted else None
        self.recorder = Recorder(self.folder, self.metrics, run, self.config, self.wandb)

    @classmethod
    def to_fit(
        cls,
        module: Classifier,
        data: FERDataModule,
        options: RunOptions,
        checkpoint: str | None = None,
        start: StartWeights | None = None,
    ) -> Self:
        """Make a run that trains; mistakes are found before anything is written.

        Args:
            module: as for the class.
            data: as for the class.
            options: as for the class.
            checkpoint: whose state the training takes over.
            start: as for the class.
        """
        _ = data.split
        module.check_data(data)
        start = start or StartWeights(None)
        if checkpoint is not None:
            check_description(read_checkpoint(checkpoint), module.net)
        elif options.resume is None or start.fetched:
            start.tell_of(module.load_pretrained())
        return cls(module, data, options, start)

    @classmethod
    def to_measure(
        cls, module: Classifier, data: FERDataModule, options: RunOptions, checkpoint: str
    ) -> Self:
        """Make a run that measures a checkpoint; mistakes are found before anything is written."""
        _ = data.split
        check_description(read_checkpoint(checkpoint), module.net)
        return cls(module, data, options)

    def make_trainer(
        self,
        make: Callable[..., L.Trainer],
        loggers: Sequence[Any] = (),
        callbacks: Sequence[L.Callback] = (),
        progress: bool = True,
    ) -> L.Trainer:
        """Make the Trainer with the run's loggers and callbacks beside those given.

        Args:
            make: takes ``logger``, ``callbacks`` and ``default_root_dir``.
            loggers: further ones.
            callbacks: further ones.
            progress: show a progress bar.

        Raises:
            UserError: options that the Trainer does not take.
        """
        own = [self.metrics, self.wandb, *([self.tensorboard] if self.tensorboard else [])]
        try:
            self.trainer = make(
                logger=[*own, *loggers],
                callbacks=[
                    SameEverywhere(self.folder),  # first: the next ones write
                    EpochSeed(self.options.seed),
                    self.recorder,
                    LossAlarm(),
                    *([Progress()] if progress else []),
                    *callbacks,
                    *checkpointing(self.folder),
                ],
                default_root_dir=str(self.folder.path),
            )
        except (MisconfigurationException, ValueError) as error:
            self.folder.remove_if_empty()
            raise UserError(f"expected options that the Trainer takes but {error}") from error
        if type(self.trainer.strategy.checkpoint_io) is TorchCheckpointIO:  # not one of the user's
            self.trainer.strategy.checkpoint_io = RunCheckpointIO(self.folder)
        return self.trainer

    @property
    def config(self) -> dict[str, Any]:
        """The run's configuration, with what it has chosen so far."""
        return yaml.safe_load(self.options.config)

    def _choose(self, path: tuple[str, ...], value: Any, why: str) -> None:
        """Put a choice into the configuration, for whoever resumes or repeats the run."""
        config = with_choice(self.config, path, value)
        self.options = self.options.with_config(config)
        self.chosen.append(why)

    def _settle_threads(self) -> None:
        """Give torch as many threads as the run is to have, before anything is computed."""
        path = ("threads",)
        if path in open_choices(self.config):
            number, why = choose_threads(torch.get_num_threads())
            self._choose(path, number, f"Threads: {number}, because {why}")
        if (wanted := self.config.get("threads")) is not None:
            torch.set_num_threads(wanted)

    def _settle_compiling(self) -> None:
        """Compile the model where that is left to the run and pays, or was found to pay before."""
        path = ("model", "compile")
        if self.module.compiles != AUTO:
            return
        if path in open_choices(self.config):
            trial = self.module.choose_compiled(self.trainer, self.data)
            self._choose(path, trial.pays, trial.sentence)
            self.recorder.config = self.config
        elif self.config["model"]["compile"]:
            self.module.net.compile()

    @contextmanager
    def tracked(self) -> Iterator[None]:
        """Whatever happens inside, say how to resume and close the trackers."""
        code = 1
        terminated = 0 if in_sweep() else TERMINATED  # an agent gives up after some failures
        try:
            with self._alone(), Deadline(self._say_stopped, terminated) as deadline:
                try:
                    yield
                    code = 0
                except SystemExit as stop:  # Lightning's answer to Ctrl-C (1) and SIGTERM
                    deadline.met()
                    code = INTERRUPTED if stop.code == 1 else terminated
                    self._say_stopped()
                    raise SystemExit(code) from stop
                finally:
                    self.wandb.finish(code)
                    if self.tensorboard:
                        self.tensorboard.finish()
        except OSError as error:
            sentence = why_not_written(error, self.folder.path)
            if sentence is None:
                raise
            raise UserError(f"{sentence} and go on {self.options.how_to_resume}") from error

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Keep other processes out of the folder; the ranks of a run work there together."""
        with alone_in(self.folder.path, self._say) if is_rank_zero() else nullcontext():
            yield

    def _say_stopped(self) -> None:
        self._say(f"Stopped; go on {self.options.how_to_resume} ({self.folder.path})")

    def fit(self, **kwargs: Any) -> None:
        """Train, from the last checkpoint where a run is resumed, then test the best one.

        Where the test images have chosen the best one, the last one is tested.

        Args:
            kwargs: of ``Trainer.fit``: model, datamodule, ckpt_path.
        """
        resuming, options = self.options.resume is not None, self.options
        if resuming and self.folder.complete:
            self._say(f"This run is complete: {self.folder.path}")
            self._show(read_json(self.folder.summary))
            page = self.folder.path / FILES["report"].name
            if options.test_after_fit and options.report and not page.is_file():
                self._report()  # the run was killed while it was written
            return
        if resuming and (found := newest_whole(self.folder, self.module.net, self._say)):
            kwargs["ckpt_path"] = str(found)
        self.module.train()  # a model that was trained or looked at before is in eval mode
        self._settle_compiling()
        self._begin()
        self.wandb.note_use(self.start.name)
        frozen = self.module.transfer.freeze != "none"
        expected = [OF_RESUMING] * resuming + [OF_FREEZING] * frozen
        with without_warnings(expected):
            self.trainer.fit(**kwargs | {"weights_only": True})
        if options.test_after_fit:
            best, *_, last = self.trainer.checkpoint_callbacks
            chosen = last if self.data.split.protocol == "train_test" else best
            path = chosen.best_model_path or None  # type: ignore[attr-defined]
            if resuming and path:
                read_checkpoint(path)  # one that is damaged is named in one sentence
            self.trainer.test(self.module, self.data, path, verbose=False, weights_only=True)
        self._finish("test" if options.test_after_fit else None)
        self.wandb.log_checkpoint(self.folder.best_checkpoint, self.recorder.about_best)
        if options.test_after_fit and options.report:
            self._report()

    def measure(self, evaluate: Callable[..., Any], stage: Stage, **kwargs: Any) -> None:
        """Measure on the images of a stage with ``Trainer.validate`` or ``Trainer.test``."""
        self._begin()
        with without_warnings([OF_ANOTHER_RUN]):
            evaluate(**kwargs | {"verbose": False, "weights_only": True})
        self._finish(stage)

    def predict(self, **kwargs: Any) -> None:
        """Write the probabilities of each class for every image."""
        self._begin()
        with without_warnings([OF_ANOTHER_RUN]):
            self.trainer.predict(**kwargs | {"return_predictions": False, "weights_only": True})
        images = len(self.module.predictions.row)
        self._say(
            f"{counted(images, 'image')} predicted: {self.folder.path / FILES['answers'].name}"
        )

    @rank_zero_only
    def _begin(self) -> None:
        """Write the configuration and say where everything goes."""
        if self.chosen or not self.folder.config.is_file():
            with atomic(self.folder.config) as file:
                file.write(self.options.config)
        self._say(
            f"Data: {self.data.describe()}\n"
            f"Run folder: {self.folder.path}\n{self.wandb.how_to_sync()}"
        )
        for line in self.chosen:
            self._say(line)
        if self.options.tensorboard and not self.tensorboard:
            self._say(MISSING)
        for report in self.module.loaded or []:
            self._say(tell(report))

    @rank_zero_only
    def _finish(self, measured: Stage | None) -> None:
        """Write the summary, last, and show it."""
        summary = self.recorder.finish(self.trainer, self.module, measured)
        self.folder.previous_checkpoint.unlink(missing_ok=True)
        self.wandb.summarise(summary)
        if self.tensorboard:
            self.tensorboard.summarise(summary)
        self._show(summary)

    @rank_zero_only
    def _report(self) -> None:
        """Write the run's page; the run is complete, whatever happens to its pictures."""
        try:
            self._say(f"Report: {write_page(self.folder.path)}")
            self._say(
                "Next: open that page in a browser, and try the model on a picture with "
                f"fer-lightning demo --checkpoint {self.folder.path}"
            )
        except Exception as error:
            rank_zero_warn(
                f"No report.html was written ({type(error).__name__}: {error}); the run is "
                f"complete, try again with fer-lightning report {self.folder.path}"
            )

    @rank_zero_only
    def _show(self, summary: dict[str, Any]) -> None:
        if not self.options.quiet:
            Screen().print(summary_table(summary, str(self.folder.path)))

    @rank_zero_only
    def _say(self, text: str) -> None:
        if not self.options.quiet:
            say(Screen(stderr=True), text)
