"""What the server knows: runs, sweeps, artifacts and stored bytes."""

import json
from dataclasses import dataclass, field
from typing import Any

ENTITY = "tester"


@dataclass
class Run:
    """A run as the client described it."""

    name: str  # what users call its id
    project: str
    fields: dict[str, Any] = field(default_factory=dict)  # last values of UpsertBucket
    lines: dict[str, list[str]] = field(default_factory=dict)  # of the file stream, by file
    files: dict[str, str] = field(default_factory=dict)  # name to key of the stored bytes
    alerts: list[dict[str, Any]] = field(default_factory=list)
    starts: int = 0  # how often a client began or went on with it
    exit_code: int | None = None

    @property
    def id(self) -> str:
        return f"run-{self.project}-{self.name}"

    @property
    def state(self) -> str:
        if self.exit_code is None:
            return "running"
        return "failed" if self.exit_code else "finished"

    @property
    def history(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.lines.get("wandb-history.jsonl", [])]

    @property
    def summary(self) -> dict[str, Any]:
        sent = self.lines.get("wandb-summary.json", [])
        return json.loads(sent[-1]) if sent else {}

    @property
    def config(self) -> dict[str, Any]:
        whole = json.loads(self.fields.get("config") or "{}")
        return {k: v["value"] for k, v in whole.items() if k != "_wandb"}

    def logged(self, key: str) -> list[Any]:
        """All values logged under a name, in order."""
        return [row[key] for row in self.history if key in row]


@dataclass
class Artifact:
    """A version of an artifact; its files are named in its manifest."""

    id: str
    project: str
    type: str
    name: str
    digest: str
    version: int
    run: str | None
    aliases: list[str]
    metadata: str | None = None
    client_id: str | None = None
    state: str = "PENDING"
    used_by: list[str] = field(default_factory=list)  # names of runs
    manifest: str | None = None  # key of the stored bytes
    files: dict[str, str] = field(default_factory=dict)  # path to key


@dataclass
class Sweep:
    """A sweep and what its agents were given."""

    name: str
    project: str
    config: str  # YAML, as `wandb sweep` sent it
    given: dict[str, dict[str, Any]] = field(default_factory=dict)  # points by name of run
    agents: list[str] = field(default_factory=list)

    @property
    def id(self) -> str:
        return f"sweep-{self.name}"


@dataclass
class State:
    """Everything that clients sent."""

    runs: dict[tuple[str, str], Run] = field(default_factory=dict)  # by project and name
    sweeps: dict[str, Sweep] = field(default_factory=dict)
    artifacts: list[Artifact] = field(default_factory=list)
    stored: dict[str, bytes] = field(default_factory=dict)

    def run(self, name: str | None = None) -> Run:
        """The run of a name, or the only one."""
        (found,) = [run for run in self.runs.values() if name in (None, run.name)]
        return found

    def artifact(self, id: str) -> Artifact:
        return next(one for one in self.artifacts if one.id == id)

    def models(self, project: str | None = None) -> list[Artifact]:
        """Artifacts of type model."""
        return [
            one for one in self.artifacts if one.type == "model" and project in (None, one.project)
        ]

    def file(self, run: Run, name: str) -> bytes:
        """Bytes of a file of a run."""
        return self.stored[run.files[name]]
