"""One training in a process of its own; nothing here waits for it unless told to."""

import errno
import fcntl
import os
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from types import FrameType, TracebackType
from typing import IO, Literal, Self

from rich.console import Console, RenderableType
from rich.live import Live

from fer_lightning.errors import UserError
from fer_lightning.runs.files import FILES

Outcome = Literal["done", "failed", "stopped"]
TICK = 0.2  # seconds between looks at a training
SOON, AT_LAST = 3.0, 8.0  # seconds after SIGTERM: an exception, the end of the process
PATIENCE = 60.0  # seconds that a training may take to end when asked to
OF_ONE_RUN = (  # never of many: which run it is on W&B, and that SLURM starts its processes
    *("WANDB_RUN_ID", "WANDB_SWEEP_ID", "WANDB_SWEEP_PARAM_PATH", "SLURM_NTASKS"),
)
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
INTERRUPTED, TERMINATED = 130, 143  # exit codes of a training after Ctrl-C and SIGTERM
HELD = "FER_LIGHTNING_HELD"  # the folder whose lock a study or sweep holds for this process
NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP)  # of some network file systems


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


@contextmanager
def alone_in(folder: Path, say: Callable[[str], None]) -> Iterator[None]:
    """Hold the lock of a run folder, unless the study or sweep that started this process does.

    Args:
        folder: of the run.
        say: told where the file system has no locks.

    Raises:
        UserError: another process is at work there.
        OSError: the folder cannot be written.
    """
    if os.environ.get(HELD) == str(folder.resolve()):
        yield
        return
    with ExitStack() as held:
        try:
            held.enter_context(only_one(folder / FILES["lock"].name, "training"))
        except OSError as error:
            if error.errno not in NO_LOCKS:
                raise
            say(f"{folder} cannot be locked ({error.strerror}): start nothing else there")
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


# --- An end within seconds


class Deadline:
    """After SIGTERM ends the process in time, whatever it is doing.

    Lightning notes the signal and ends between two batches. What takes longer, such as pictures,
    is ended by an exception, and what cannot be interrupted together with the process. Every file
    is written as a whole, so that a run can be resumed from wherever it was.

    Args:
        last_words: said before the process is ended by force.
        code: the exit code.
    """

    def __init__(self, last_words: Callable[[], None], code: int) -> None:
        self.last_words, self.code = last_words, code
        self.over, self.soon = threading.Event(), False

    def __enter__(self) -> Self:
        self.before = signal.getsignal(signal.SIGTERM)
        self.active = threading.current_thread() is threading.main_thread() and (
            self.before == signal.SIG_DFL  # otherwise somebody else sees to it
        )
        if self.active:
            heard, self.told = socket.socketpair()
            self.told.setblocking(False)
            signal.signal(signal.SIGTERM, self._asked)
            self.fd = signal.set_wakeup_fd(self.told.fileno(), warn_on_full_buffer=False)
            watch = partial(self._watch, heard, threading.get_ident())
            threading.Thread(target=watch, daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        self.met()
        if self.active:
            signal.set_wakeup_fd(self.fd)
            self.told.close()
            signal.signal(signal.SIGTERM, self.before)

    def met(self) -> None:
        """The process is at its end."""
        self.over.set()

    def _asked(self, number: int, frame: FrameType | None) -> None:
        """Leave some seconds to whoever noted the signal too."""
        if self.soon:
            raise SystemExit(self.code)

    def _watch(self, heard: socket.socket, main: int) -> None:
        """Wait for the signal in a thread; the main one may not hear it for minutes."""
        with heard:
            while number := heard.recv(1):  # nothing when the other end is closed
                if number[0] == signal.SIGTERM:
                    break
            else:
                return
        if not self.over.wait(SOON):
            self.soon = True
            signal.pthread_kill(main, signal.SIGTERM)
        if not self.over.wait(AT_LAST - SOON):
            try:
                self.last_words()
            finally:
                os._exit(self.code)


# --- A training


class Training:
    """A folder that a process trains, or goes on with, as soon as no other one is at work there.

    Args:
        folder: made if there is none; its file ``lock`` is held while a process works there, also
            when the process that started it has been killed.
        log: what the process prints is added to it.
        command: the process.
        done: whether there is nothing left to do.
        prepare: writes what the process reads.
        environment: variables beside this process's, of which those of a single run are left out.
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
        self.environment = {**(environment or {}), HELD: str(folder.resolve())}
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
    """The environment without what is said of a single run."""
    return {name: value for name, value in os.environ.items() if name not in OF_ONE_RUN}


# --- A view of trainings on a terminal that changes while they run and stays when they end


STYLES = {"done": "green", "running": "bold cyan", "failed": "bold red", "half-done": "yellow"}
BETWEEN_LOOKS = 1.0  # seconds; each reads a few small files


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
