"""Training the cells of a study side by side, with Ray: ``pip install 'fer-lightning[ray]'``.

One worker per GPU, or per some CPUs where there is none. On several machines (``--ray-address``)
the study's folder must be on a disk that all of them share.
"""

import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from fer_lightning.errors import UserError
from fer_lightning.execution.study.cell_folder import CellFolder
from fer_lightning.execution.study.execute import Job, nothing, train
from fer_lightning.execution.training import TICK, Outcome, Stopped, asked_to_stop

PATIENCE = 90.0  # seconds that all trainings together may take to end


def execute_on_ray(
    jobs: Sequence[Job],
    command: Callable[[CellFolder], list[str]],
    watch: Callable[[Job | None], None] = nothing,
    retry_failed: bool = False,
    address: str | None = None,
    cpus: int = 2,
) -> dict[str, Outcome]:
    """Train all cells that are not done, as `execute` does, several at a time.

    Args:
        jobs: the cells.
        command: the command line that trains the cell of a folder.
        watch: called with each job at work.
        retry_failed: also go on with those that failed in an earlier call.
        address: of a Ray cluster; without one, this machine alone.
        cpus: for each worker, where there are no GPUs.

    Raises:
        UserError: Ray is not installed, or the cluster does not answer.
        Stopped: a signal came; the trainings have ended.
    """
    ray = connect(address)
    todo = [j for j in jobs if not j.done and (retry_failed or j.folder.state != "failed")]
    gpus = ray.cluster_resources().get("GPU", 0)
    most = int(ray.cluster_resources().get("CPU", 1))
    needs = {"num_gpus": 1} if gpus else {"num_cpus": min(cpus, most)}
    remote = ray.remote(max_retries=0, **needs)(_on_worker)
    here = str(Path.cwd())
    waiting = {remote.remote(job, command(job.folder), here): job for job in todo}
    outcomes: dict[str, Outcome] = {}
    try:
        with asked_to_stop() as asked:
            while waiting and not asked:
                ready, _ = ray.wait(list(waiting), timeout=TICK)
                for reference in ready:
                    job = waiting.pop(reference)
                    outcomes[job.cell.name] = _outcome(ray, reference)
                    job.done, job.began = outcomes[job.cell.name] == "done", None
                    watch(job)
                for job in waiting.values():
                    _look(job, watch)
            if asked:
                _cancel(ray, list(waiting))
                raise Stopped
    finally:
        ray.shutdown()
    watch(None)
    return outcomes


def connect(address: str | None) -> Any:
    """Import Ray and connect to a cluster, or start one on this machine.

    Raises:
        UserError: Ray is not installed, or the cluster does not answer.
    """
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


def _on_worker(job: Job, words: list[str], here: str) -> Outcome:
    """Train one cell on a worker, in the folder where the study was started."""
    os.chdir(here)
    return train(job, lambda folder: words)


def _outcome(ray: Any, reference: Any) -> Outcome:
    """A worker that died, or was cancelled, leaves a cell that can go on."""
    try:
        return ray.get(reference)
    except ray.exceptions.RayError:
        return "stopped"


def _look(job: Job, watch: Callable[[Job | None], None]) -> None:
    """Show a job once its training has begun."""
    if job.began is None and job.folder.log.is_file() and job.folder.state == "half-done":
        job.began = time.monotonic()
    if job.began is not None:
        watch(job)


def _cancel(ray: Any, references: list[Any]) -> None:
    """Interrupt the workers, which end their trainings."""
    for reference in references:
        ray.cancel(reference)
    ray.wait(references, num_returns=len(references), timeout=PATIENCE)
