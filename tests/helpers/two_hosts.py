"""Two hosts on one machine: network namespaces with names of their own, joined by a cable.

Nothing leaves the machine: a host reaches itself and the other one.
"""

import os
import shutil
import subprocess
from contextlib import contextmanager
from pathlib import Path

NAMES = ("one", "two")
ADDRESSES = ("10.77.0.1", "10.77.0.2")
CABLE = "cable"  # the network card of each host
# a host name of its own, names that lead to addresses, and no disk that is not to be shared
ENTER = (
    'hostname "$1"; mount --bind "$2" /etc/hosts; [ -z "$3" ] || mount -t tmpfs none "$3"; '
    'shift 3; cd "$PWD"; exec "$@"'
)


def why_not():
    """Say why there can be no hosts here, or None."""
    if os.geteuid() != 0:
        return "only root can make network namespaces"
    for tool in ("ip", "unshare"):
        if shutil.which(tool) is None:
            return f"there is no program {tool}"
    tried = subprocess.run(["unshare", "--net", "--uts", "--mount", "true"], capture_output=True)
    return None if tried.returncode == 0 else "network namespaces cannot be made here"


class Host:
    """One of the two.

    Args:
        name: its host name.
        address: on the cable.
        space: the network namespace.
        hosts: a file for /etc/hosts.
    """

    def __init__(self, name, address, space, hosts):
        self.name, self.address, self.space, self.hosts = name, address, space, hosts

    def start(self, words, log, own=None, **options):
        """Start a process there.

        Args:
            words: the command.
            log: a file for what it prints.
            own: a folder that the other host does not see.
            options: of `subprocess.Popen`.
        """
        enter = ["unshare", "--uts", "--mount", "sh", "-ec", ENTER, "sh"]
        with Path(log).open("ab") as file:
            return subprocess.Popen(
                [*self.inside(), *enter, self.name, str(self.hosts), str(own or ""), *words],
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                **options,
            )

    def inside(self):
        return ["ip", "netns", "exec", self.space]

    def unplug(self):
        """Cut the host off."""
        ip("-n", self.space, "link", "set", CABLE, "down")

    def plug_in(self):
        ip("-n", self.space, "link", "set", CABLE, "up")

    def end(self):
        """Kill whatever runs in the host's network."""
        found = subprocess.run(["ip", "netns", "pids", self.space], capture_output=True, text=True)
        for pid in found.stdout.split():
            subprocess.run(["kill", "-9", pid], capture_output=True)


def ip(*words):
    subprocess.run(["ip", *words], check=True)


def host_in(folder, name, address, home):
    """Make a host; its file of names says where each host is, perhaps `home` for itself."""
    where = dict(zip(NAMES, ADDRESSES, strict=True)) | ({} if home is None else {name: home})
    lines = [f"{address} {name}\n" for name, address in {"localhost": "127.0.0.1", **where}.items()]
    path = Path(folder, f"hosts-{name}")
    path.write_text("".join(lines))
    return Host(name, address, f"fer{os.getpid()}{name}", path)


@contextmanager
def two_hosts(folder, home=None):
    """Give two hosts; whatever runs on them at the end is killed, and nothing of them remains.

    Args:
        folder: for their files.
        home: what each host takes for its own address, if not the right one.
    """
    hosts = [host_in(folder, *pair, home) for pair in zip(NAMES, ADDRESSES, strict=True)]
    try:
        for host in hosts:
            ip("netns", "add", host.space)
        one, two = (host.space for host in hosts)
        ip("link", "add", CABLE, "netns", one, "type", "veth", "peer", CABLE, "netns", two)
        for host in hosts:
            ip("-n", host.space, "addr", "add", f"{host.address}/24", "dev", CABLE)
            for card in ("lo", CABLE):
                ip("-n", host.space, "link", "set", card, "up")
        yield hosts
    finally:
        for host in hosts:
            host.end()
            subprocess.run(["ip", "netns", "del", host.space], capture_output=True)
