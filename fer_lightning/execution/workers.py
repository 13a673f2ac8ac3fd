"""Who trains the runs of a study or a sweep: processes of this machine, or a Ray cluster's.

Ray comes with ``pip install 'fer-lightning[ray]'``. On several machines (``--ray-address``) the
folder of the runs must be on a disk that all of them share.
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from fer_lightning.errors import UserError
from fer_lightning.execution.training import TICK, Outcome, Training

if TYPE_CHECKING:
    from fer_lightning.execution.study.cells import CellFolder

PATIENCE = 90.0  # seconds that all trainings together may take to end
LOST_HOSTS = 3  # that a training may outlive; another host then goes on with it
Command = Callable[["CellFolder"], list[str]]  # trains a folder, or goes on with it
Prepare = Callable[[], None]  # writes what the training of a folder reads


class Ended(NamedTuple):
    """How a training ended, with its process's exit code."""

    name: str
    outcome: Outcome
    code: int


def nothing(about: Any = None) -> None:
    """Prepare or watch nothing."""


class Workers(Protocol):
    """Trains folders, several at a time; no method waits but `wait` and `end`."""

    @property
    def free(self) -> int:
        """How many more trainings can be started."""

    def start(self, folder: "CellFolder", prepare: Prepare = nothing) -> None:
        """Train a folder, or go on with it."""

    def ended(self) -> Iterator[Ended]:
        """Name trainings that have ended since the last call."""

    def wait(self, seconds: float) -> None:
        """Wait for a training to end, at most so long; call it only while there is one."""

    def ask_to_end(self, name: str) -> None:
        """End one training early."""

    def end(self) -> None:
        """End all, and wait for it."""


class LocalWorkers:
    """Processes of this machine; one worker per environment, such as the GPU it may use."""

    def __init__(self, command: Command, environments: Sequence[Mapping[str, str]] = ({},)) -> None:
        self.command = command
        self.idle = list(environments)
        self.at_work: dict[str, Training] = {}

    @property
    def free(self) -> int:
        """How many more trainings can be started."""
        return len(self.idle)

    def start(self, folder: "CellFolder", prepare: Prepare = nothing) -> None:
        """Train a folder, or go on with it."""
        made = _training(folder, self.command(folder), prepare, self.idle.pop(0))
        self.at_work[folder.path.name] = made

    def ended(self) -> Iterator[Ended]:
        """Name trainings that have ended since the last call."""
        for name, training in list(self.at_work.items()):
            outcome = training.poll()
            if outcome is not None:
                del self.at_work[name]
                self.idle.append(training.environment)
                yield Ended(name, outcome, training.code)

    def wait(self, seconds: float) -> None:
        """Wait for the training that began first, at most so long; others may end meanwhile."""
        next(iter(self.at_work.values())).wait(seconds)

    def ask_to_end(self, name: str) -> None:
        """End one training early."""
        self.at_work[name].ask_to_end()

    def end(self) -> None:
        """End all, together, and wait for it."""
        for training in self.at_work.values():
            training.ask_to_end()
        for training in self.at_work.values():
            training.end()
        self.at_work.clear()


class RayWorkers:
    """Workers of a Ray cluster: one per GPU, or per some CPUs where there is none.

    Args:
        command: as for `LocalWorkers`.
        address: of the cluster; without one, this machine alone.
        parallel: how many at a time; as many as the cluster takes without it.
        cpus: for each worker, where there are no GPUs.

    Raises:
        UserError: Ray is not installed, or the cluster does not answer.
    """

    def __init__(
        self, command: Command, address: str | None, parallel: int | None = None, cpus: int = 2
    ) -> None:
        self.command = command
        self.ray = _connect(address)
        found = self.ray.cluster_resources()
        gpus, most = int(found.get("GPU", 0)), int(found.get("CPU", 1))
        hosts = [host["Resources"].get("CPU", 0) for host in self.ray.nodes() if host["Alive"]]
        cpus = min([cpus, *(int(many) for many in hosts if many >= 1)])  # no worker spans two
        needs = {"num_gpus": 1} if gpus else {"num_cpus": cpus}
        self.remote = self.ray.remote(max_retries=LOST_HOSTS, **needs)(_on_worker)
        self.most = parallel or gpus or max(1, most // cpus)
        self.at_work: dict[str, Any] = {}

    @property
    def free(self) -> int:
        """How many more trainings can be started."""
        return self.most - len(self.at_work)

    def start(self, folder: "CellFolder", prepare: Prepare = nothing) -> None:
        """Train a folder, or go on with it."""
        task = self.remote.remote(folder, self.command(folder), prepare, str(Path.cwd()))
        self.at_work[folder.path.name] = task

    def ended(self) -> Iterator[Ended]:
        """Name trainings that have ended since the last call."""
        names = {task: name for name, task in self.at_work.items()}
        if not names:
            return
        ready, _ = self.ray.wait(list(names), num_returns=len(names), timeout=0)
        for task in ready:
            name = names[task]
            del self.at_work[name]
            try:
                yield Ended(name, *self.ray.get(task))
            except self.ray.exceptions.RayError:  # a worker that died or was asked to end
                yield Ended(name, "stopped", 0)

    def wait(self, seconds: float) -> None:
        """Wait for any training to end, at most so long."""
        self.ray.wait(list(self.at_work.values()), timeout=seconds)

    def ask_to_end(self, name: str) -> None:
        """End one training early: the worker is interrupted, and ends its process."""
        self.ray.cancel(self.at_work[name])

    def end(self) -> None:
        """End all, and wait for it."""
        tasks = list(self.at_work.values())
        for task in tasks:
            self.ray.cancel(task)
        if tasks:
            self.ray.wait(tasks, num_returns=len(tasks), timeout=PATIENCE)
        self.at_work.clear()
        self.ray.shutdown()


def _connect(address: str | None) -> Any:
    """Import Ray and connect to a cluster, or start one on this machine."""
    try:
        import ray
    except ImportError as error:
        raise UserError(
            "expected Ray for --ray but it is not installed; pip install 'fer-lightning[ray]'"
        ) from error
    try:
        local = {"include_dashboard": False} if address is None else {"address": address}
        ray.init(log_to_driver=False, **local)
    except Exception as error:  # Ray raises plain ones, too: a node that is too slow to start
        where = "on this machine" if address is None else f"at {address}"
        raise UserError(f"expected Ray to start {where} but {str(error)[:200]}") from error
    return ray


def _training(
    folder: "CellFolder", words: list[str], prepare: Prepare, environment: Mapping[str, str]
) -> Training:
    return Training(folder.path, folder.log, words, lambda: folder.done, prepare, environment)


def _on_worker(
    folder: "CellFolder", words: list[str], prepare: Prepare, here: str
) -> tuple[Outcome, int]:
    """Train one folder on a worker of Ray, started where the study or sweep was."""
    os.chdir(here)
    training = _training(folder, words, prepare, {})
    try:
        while (outcome := training.poll()) is None:
            training.wait(TICK)
    finally:
        training.end()
    return outcome, training.code
