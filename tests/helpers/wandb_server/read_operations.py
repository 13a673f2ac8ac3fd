"""GraphQL operations of `wandb.Api`."""

import json
from typing import Any

from wandb_server.artifact_operations import find
from wandb_server.run_operations import PROJECT_ID, Variables, as_bucket, project_of
from wandb_server.state import ENTITY, Artifact, Run, State

CREATED = "2026-01-01T00:00:00Z"


def default_entity(state: State, v: Variables) -> Any:
    return {"viewer": {"id": "user-1", "entity": ENTITY, "defaultEntity": {"name": ENTITY}}}


def _run(run: Run) -> dict[str, Any]:
    history = run.history
    names = {name for row in history for name in row}
    return as_bucket(run) | {
        "projectId": PROJECT_ID,
        "tags": run.fields.get("tags") or [],
        "state": run.state,
        "group": run.fields.get("groupName"),
        "jobType": run.fields.get("jobType"),
        "createdAt": CREATED,
        "heartbeatAt": CREATED,
        "systemMetrics": "{}",
        "summaryMetrics": json.dumps(run.summary),
        "user": {"name": ENTITY, "username": ENTITY},
        "historyKeys": {
            "lastStep": history[-1]["_step"] if history else -1,
            "keys": {name: {} for name in names},
        },
        "readOnly": False,
        "commit": run.fields.get("commit"),
        "notes": None,
    }


def one_run(state: State, v: Variables) -> Any:
    run = state.runs.get((v["project"], v["name"]))
    return {"project": project_of(v["project"]) | {"run": run and _run(run)}}


def runs(state: State, v: Variables) -> Any:
    found = [run for run in state.runs.values() if run.project == v["project"]]
    edges = [{"node": _run(run), "cursor": run.name} for run in found]
    page = {"edges": edges, "pageInfo": {"endCursor": None, "hasNextPage": False}}
    about = {"runCount": len(found), "readOnly": False, "runs": page}
    return {"project": project_of(v["project"]) | about}


def history(state: State, v: Variables) -> Any:
    run = state.runs[v["project"], v["name"]]
    return {"project": {"run": {"history": run.lines.get("wandb-history.jsonl", [])}}}


def sweep(state: State, v: Variables) -> Any:
    found = state.sweeps[v["sweep"]]
    answer = {"id": found.id, "name": found.name, "config": found.config, "state": "RUNNING"}
    more = {"bestLoss": None, "order": None, "runCountExpected": None, "displayName": None}
    return {"project": project_of(found.project) | {"sweep": answer | more | {"priorRuns": None}}}


def _artifact(one: Artifact, size: int) -> dict[str, Any]:
    collection = {"name": one.name, "project": project_of(one.project)}
    aliases = [
        {"__typename": "ArtifactAlias", "id": f"alias-{a}", "alias": a}
        | {"artifactCollection": collection | {"__typename": "ArtifactSequence"}}
        for a in [*one.aliases, f"v{one.version}"]
    ]
    return {
        "__typename": "Artifact",
        "id": one.id,
        "artifactSequence": collection | {"__typename": "ArtifactSequence"},
        "versionIndex": one.version,
        "artifactType": {"name": one.type},
        "description": None,
        "metadata": one.metadata,
        "ttlDurationSeconds": -2,  # never deleted
        "ttlIsInherited": False,
        "tags": [],
        "historyStep": None,
        "state": one.state,
        "size": str(size),
        "digest": one.digest,
        "digestAlgorithm": None,
        "commitHash": "0",
        "fileCount": len(one.files),
        "createdAt": CREATED,
        "updatedAt": CREATED,
        "aliases": aliases,
    }


def _size(state: State, one: Artifact) -> int:
    return sum(len(state.stored[key]) for key in one.files.values())


def membership(state: State, v: Variables) -> Any:
    found = find(state, v["project"], v["name"])
    if found is None:
        return {"project": {"artifactCollectionMembership": None}}
    artifact = _artifact(found, _size(state, found))
    member = {
        "__typename": "ArtifactCollectionMembership",
        "id": f"member-{found.id}",
        "versionIndex": found.version,
        "createdAt": CREATED,
        "aliases": artifact["aliases"],
        "artifactCollection": artifact["artifactSequence"],
        "artifact": artifact,
    }
    return {"project": {"artifactCollectionMembership": member}}


def manifest(state: State, v: Variables) -> Any:
    found = state.artifact(v.get("id") or v["artifact_id"])
    file = {"directUrl": f"{v['@url']}/storage/{found.manifest}"}
    return {"artifact": {"currentManifest": {"id": f"manifest-{found.id}", "file": file}}}


def file_urls(state: State, v: Variables) -> Any:
    found = find(state, v["project"], f"{v['collection']}:{v['alias']}")
    edges = [
        {"node": {"name": name, "directUrl": f"{v['@url']}/storage/{key}", "id": name}}
        for name, key in (found.files.items() if found else ())
    ]
    page = {"edges": edges, "pageInfo": {"endCursor": None, "hasNextPage": False}}
    return {"project": {"artifactCollection": {"artifactMembership": {"files": page}}}}


OPERATIONS = {
    "GetDefaultEntity": default_entity,
    "Run": one_run,
    "Runs": runs,
    "RunHistoryKeys": one_run,
    "RunState": one_run,
    "RunFullHistory": history,
    "GetSweep": sweep,
    "ArtifactMembershipByName": membership,
    "FetchArtifactManifest": manifest,
    "ArtifactManifest": manifest,
    "GetArtifactMembershipFileUrls": file_urls,
}
