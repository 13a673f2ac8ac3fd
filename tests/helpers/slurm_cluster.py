"""SLURM on one machine: munged, slurmctld and slurmd on loopback, all files in one folder."""

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "srun", "scontrol", "squeue", "scancel")
PLACES = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/usr/local/sbin"])
CONFIG = """\
ClusterName=rehearsal
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket,cred_expire=5
SlurmUser=root
SlurmdUser=root
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=batch_sched_delay=0,sched_interval=1
ReturnToService=2
NodeName={host} NodeAddr=127.0.0.1 CPUs={cpus}
PartitionName=rehearsal Nodes={host} Default=YES MaxTime=INFINITE
"""


def why_not():
    """Say why there can be no SLURM here, or None."""
    if os.geteuid() != 0:
        return "only root can start slurmd"
    missing = [name for name in PROGRAMS if shutil.which(name, path=PLACES) is None]
    return f"there is no program {missing[0]} (Debian: slurm-wlm munge)" if missing else None


class Cluster:
    """A node with some CPUs.

    Args:
        folder: of its files.
        config: the file ``slurm.conf``.
    """

    def __init__(self, folder, config):
        self.folder, self.environment = folder, os.environ | {"SLURM_CONF": str(config)}

    def run(self, *words, **options):
        """Run one of SLURM's commands, or what it starts, to its end; return what it printed."""
        options = {"timeout": 600, "env": self.environment} | options
        done = subprocess.run(words, capture_output=True, text=True, check=False, **options)
        assert done.returncode == 0, f"{words}\n{done.stdout}{done.stderr}{self.logs()}"
        return done.stdout

    def tasks(self):
        """Return the tasks that wait or run: id to state."""
        lines = self.run("squeue", "--noheader", "--array", "--format=%i %T").splitlines()
        return dict(line.split() for line in lines)

    def wait(self, until, seconds=900):
        """Wait until something is so."""
        end = time.monotonic() + seconds
        while not until():
            assert time.monotonic() < end, f"{self.tasks()}\n{self.logs()}"
            time.sleep(0.2)

    def logs(self):
        return "".join(path.read_text()[-3000:] for path in sorted(self.folder.glob("*.log")))


def free_ports(count):
    with ExitStack() as opened:
        sockets = [opened.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


def start(*words):
    subprocess.run([shutil.which(words[0], path=PLACES), *words[1:]], check=True, timeout=60)


def end(pid_file):
    """End a daemon by the number that it has written down, and wait for it."""
    if not pid_file.is_file():
        return
    pid = int(pid_file.read_text())
    for number in (signal.SIGTERM, signal.SIGKILL):
        for _ in range(50):
            try:
                os.kill(pid, number if _ == 0 else 0)
            except ProcessLookupError:
                return
            time.sleep(0.1)


@contextmanager
def cluster(cpus=2):
    """Give a cluster; at the end its jobs are cancelled, its daemons ended, its files removed."""
    with tempfile.TemporaryDirectory(prefix="slurm-") as name:  # short: sockets lie in it
        folder = Path(name)
        (folder / "spool").mkdir()
        key = folder / "munge.key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o400)
        config = folder / "slurm.conf"
        host = os.uname().nodename
        config.write_text(CONFIG.format(host=host, folder=folder, ports=free_ports(2), cpus=cpus))
        made = Cluster(folder, config)
        os.environ["SLURM_CONF"], before = str(config), os.environ.get("SLURM_CONF")
        try:
            files = {"key": "munge.key", "socket": "munge.socket", "pid": "munged.pid"}
            options = [f"--{what}{'' if what == 'socket' else '-file'}" for what in files]
            places = [f"{o}={folder / f}" for o, f in zip(options, files.values(), strict=True)]
            start("munged", "--force", *places, f"--log-file={folder}/munged.log",
                  f"--seed-file={folder}/munge.seed")  # fmt: skip
            start("slurmctld", "-i")
            start("slurmd")
            made.wait(lambda: "idle" in made.run("sinfo", "--noheader", "--format=%t"), 60)
            yield made
        finally:
            if (folder / "slurmctld.pid").is_file():
                subprocess.run(["scancel", "--user=root"], env=made.environment, timeout=60)
                made.wait(lambda: not made.tasks(), 90)
            for daemon in ("slurmd", "slurmctld", "munged"):
                end(folder / f"{daemon}.pid")
            os.environ.pop("SLURM_CONF")
            if before is not None:
                os.environ["SLURM_CONF"] = before
