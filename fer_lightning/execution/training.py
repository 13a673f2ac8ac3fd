"""One training in a process of its own; nothing here waits for it unless told to."""

import fcntl
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import FrameType, TracebackType
from typing import IO, Literal, Self

from rich.console import Console, RenderableType
from rich.live import Live

from fer_lightning.errors import UserError
from fer_lightning.runs.files import FILES

Outcome = Literal["done", "failed", "stopped"]
TICK = 0.2  # seconds between looks at a training
PATIENCE = 60.0  # seconds that a training may take to end when asked to
OF_ONE_RUN = ("WANDB_RUN_ID", "WANDB_SWEEP_ID", "WANDB_SWEEP_PARAM_PATH")  # never of many
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
INTERRUPTED, TERMINATED = 130, 143  # exit codes of a training after Ctrl-C and SIGTERM


class Stopped(Exception):  # noqa: N818 (not an error)
    """The user asked to stop; everything that was begun can go on."""


@contextmanager
def asked_to_stop() -> Iterator[list[int]]:
    """Note signals instead of ending; give the list of those that came.

    >>> with asked_to_stop() as asked:
    ...     signal.raise_signal(signal.SIGTERM)
    ...     len(asked)
    1
    """
    asked: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        asked.append(number)

    before = {number: signal.signal(number, note) for number in SIGNALS}
    try:
        yield asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def only_one(path: Path, what: str) -> Iterator[None]:
    """Hold a lock file for as long as this process lives, however it ends.

    The lock is the kernel's, so none is ever stale; the file only says who holds it.

    Raises:
        UserError: another process holds it.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+") as file:
        if not try_lock(file):
            file.seek(0)
            raise UserError(
                f"expected to be the only {what} in {path.parent} but process "
                f"{file.read(100).strip() or 'unknown'} is at work there; wait for it or stop it"
            )
        file.truncate(0)
        file.write(f"{os.getpid()}\n")
        file.flush()
        yield


def try_lock(file: IO[str]) -> bool:
    """Lock a file unless another process has; a child that inherits the file shares the lock.

    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile("w+") as one, open(one.name) as other:
    ...     try_lock(one), try_lock(other)
    (True, False)
    """
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


class Training:
    """A folder that a process trains, or goes on with, as soon as no other one is at work there.

    Args:
        folder: made if there is none; its file ``lock`` is held while a process works there, also
            when the process that started it has been killed.
        log: what the process prints is added to it.
        command: the process.
        done: whether there is nothing left to do.
        prepare: writes what the process reads.
        environment: variables beside this process's, of which those of one W&B run are left out.
    """

    def __init__(
        self,
        folder: Path,
        log: Path,
        command: list[str],
        done: Callable[[], bool],
        prepare: Callable[[], None],
        environment: Mapping[str, str] | None = None,
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.log, self.command, self.done, self.prepare = log, command, done, prepare
        self.environment = dict(environment or {})
        self.lock = (folder / FILES["lock"].name).open("a+")
        self.process: subprocess.Popen[bytes] | None = None
        self.began = time.monotonic()
        self.asked_at: float | None = None  # when the process was asked to end
        self.code = 0

    def poll(self) -> Outcome | None:
        """Start the process when its folder is free, or look at it; None while it is at work."""
        if self.process is None:
            if self.asked_at is not None:
                return self._close("stopped")
            if not try_lock(self.lock):  # the training of a killed process is still at work here
                return None
            if self.done():
                return self._close("done")
            self.prepare()
            with self.log.open("ab") as log:
                self.process = self._start(log)
            return None
        if self.process.poll() is None:
            if self.asked_at is not None and time.monotonic() - self.asked_at > PATIENCE:
                self.process.kill()
            return None
        self.code = self.process.returncode
        if self.code == 0 and self.done():
            return self._close("done")
        killed = self.code < 0 or self.code in (INTERRUPTED, TERMINATED)
        return self._close("stopped" if killed or self.asked_at is not None else "failed")

    def ask_to_end(self) -> None:
        """Send SIGTERM once; `poll` tells when the process has ended, killed if it takes long."""
        if self.asked_at is None:
            self.asked_at = time.monotonic()
            if self.process is not None and self.process.poll() is None:
                self.process.send_signal(signal.SIGTERM)

    def wait(self, seconds: float) -> None:
        """Wait for the process, at most so long."""
        if self.process is None:
            time.sleep(seconds)
            return
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            return

    def end(self) -> None:
        """Ask the process to end, if it has not, and wait until it has."""
        if not self.lock.closed:
            self.ask_to_end()
            while self.poll() is None:
                self.wait(TICK)

    def _start(self, log: IO[bytes]) -> subprocess.Popen[bytes]:
        """Start in a session of its own, so that Ctrl-C reaches it once, from us.

        It shares the lock: when this process is killed, the folder stays locked until it ends.
        """
        return subprocess.Popen(
            self.command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            pass_fds=[self.lock.fileno()],
            env=_inherited() | self.environment,
        )

    def _close(self, outcome: Outcome) -> Outcome:
        self.lock.close()
        return outcome


def _inherited() -> dict[str, str]:
    """The environment without what says which single run on W&B a process is."""
    return {name: value for name, value in os.environ.items() if name not in OF_ONE_RUN}


# --- A view of trainings on a terminal that changes while they run and stays when they end


STYLES = {"done": "green", "running": "bold cyan", "failed": "bold red", "half-done": "yellow"}
BETWEEN_LOOKS = 1.0  # seconds; each reads a few small files


def say(console: Console, text: str) -> None:
    """Print a line as it is: nothing coloured, cut or taken for markup."""
    console.print(text, highlight=False, soft_wrap=True, markup=False)


class LiveView:
    """Shows what `view` returns, where the console is a terminal."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.live = Live(console=console, auto_refresh=False, transient=True)
        self.looked = 0.0  # monotonic seconds of the last look

    def view(self) -> RenderableType:
        """What to show now; what a subclass is for."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        if self.console.is_terminal:
            self.live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.console.is_terminal:
            self.live.stop()
            self.console.print(self.view())
