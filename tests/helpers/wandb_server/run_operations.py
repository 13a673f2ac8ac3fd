"""GraphQL operations with which a run is tracked."""

import json
from typing import Any

from wandb_server.state import ENTITY, Run, State

Variables = dict[str, Any]
PROJECT_ID = "1"


def project_of(name: str) -> dict[str, Any]:
    entity = {"id": "entity-1", "name": ENTITY}
    return {"id": f"project-{name}", "internalId": PROJECT_ID, "name": name, "entity": entity}


def viewer(state: State, v: Variables) -> Any:
    who = {"id": "user-1", "entity": ENTITY, "username": ENTITY, "name": ENTITY, "flags": "{}"}
    more = {"email": "", "admin": False, "teams": {"edges": []}}
    return {"viewer": who | more | {"defaultEntity": {"id": "entity-1", "name": ENTITY}}}


def server_features(state: State, v: Variables) -> Any:
    return {"serverInfo": {"features": []}}


def org_flags(state: State, v: Variables) -> Any:
    return {"organization": None}


def organization(state: State, v: Variables) -> Any:
    return {"entity": {"organization": {"coreWeaveOrganizationId": None}}}


def upsert_run(state: State, v: Variables) -> Any:
    project, name = v.get("project") or "uncategorized", v["name"]
    inserted = (project, name) not in state.runs
    run = state.runs.setdefault((project, name), Run(name, project))
    run.fields |= {k: given for k, given in v.items() if given is not None and k[0] != "@"}
    if v.get("host"):  # the first call of a client; later ones only change the configuration
        run.starts += inserted or run.exit_code is not None
        run.exit_code = None
    return {"upsertBucket": {"bucket": as_bucket(run), "inserted": inserted}}


def as_bucket(run: Run) -> dict[str, Any]:
    fields = run.fields
    return {
        "id": run.id,
        "name": run.name,
        "displayName": fields.get("displayName") or run.name,
        "description": fields.get("description"),
        "config": fields.get("config"),
        "sweepName": fields.get("sweep"),
        "project": project_of(run.project),
        "historyLineCount": len(run.lines.get("wandb-history.jsonl", [])),
    }


def resume_status(state: State, v: Variables) -> Any:
    run = state.runs.get((v["project"], v["name"]))
    bucket = None
    if run is not None and run.lines:
        lines = {kind: run.lines.get(f"wandb-{kind}.jsonl", []) for kind in ("history", "events")}
        bucket = as_bucket(run) | {
            "summaryMetrics": json.dumps(run.summary),
            "logLineCount": len(run.lines.get("output.log", [])),
            "eventsLineCount": len(lines["events"]),
            "historyTail": json.dumps(lines["history"][-1:]),
            "eventsTail": json.dumps(lines["events"][-1:]),
            "tags": run.fields.get("tags") or [],
            "notes": None,
            "wandbConfig": json.dumps({"t": 1}),
        }
    return {"model": project_of(v["project"]) | {"bucket": bucket}}


def create_files(state: State, v: Variables) -> Any:
    run = state.runs[v["project"], v["run"]]
    made = []
    for name in v["files"]:
        run.files[name] = f"{run.id}/{name}"
        made.append({"name": name, "uploadUrl": f"{v['@url']}/storage/{run.files[name]}"})
    return {"createRunFiles": {"runID": run.id, "uploadHeaders": [], "files": made}}


def alert(state: State, v: Variables) -> Any:
    run = state.runs[v["projectName"], v["runName"]]
    run.alerts.append({k: v[k] for k in ("title", "text", "severity")})
    return {"notifyScriptableRunAlert": {"success": True}}


def take_stream(run: Run, sent: dict[str, Any]) -> None:
    """Take what a client streams: lines of files from an offset on, and how the run ended."""
    for name, chunk in (sent.get("files") or {}).items():
        lines, offset = run.lines.setdefault(name, []), chunk.get("offset", 0)
        lines[offset : offset + len(chunk["content"])] = chunk["content"]
    if sent.get("complete"):
        run.exit_code = int(sent.get("exitcode") or 0)


OPERATIONS = {
    "Viewer": viewer,
    "ServerFeaturesQuery": server_features,
    "OrgFeatureFlags": org_flags,
    "OrganizationCoreWeaveOrganizationID": organization,
    "UpsertBucket": upsert_run,
    "RunResumeStatus": resume_status,
    "CreateRunFiles": create_files,
    "NotifyScriptableRunAlert": alert,
}
