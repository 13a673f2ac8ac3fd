"""GraphQL operations that store artifacts."""

from typing import Any

from wandb_server.run_operations import Variables, project_of
from wandb_server.state import Artifact, State


def create(state: State, v: Variables) -> Any:
    given = v["input"]
    names = given.get("artifactCollectionNames") or [given["artifactCollectionName"]]
    of_name = [
        a for a in state.artifacts if (a.project, a.name) == (given["projectName"], names[0])
    ]
    same = [a for a in of_name if a.digest == given["digest"] and a.state == "COMMITTED"]
    aliases = [one["alias"] for one in given.get("aliases") or []]
    if same:
        artifact = same[0]
    else:
        artifact = Artifact(
            id=f"artifact-{len(state.artifacts)}",
            project=given["projectName"],
            type=given["artifactTypeName"],
            name=names[0],
            digest=given["digest"],
            version=len(of_name),
            run=given.get("runName"),
            aliases=[],
            metadata=given.get("metadata"),
            client_id=given.get("clientID"),
        )
        state.artifacts.append(artifact)
    for other in of_name:
        other.aliases = [alias for alias in other.aliases if alias not in aliases]
    artifact.aliases += aliases
    committed = [a for a in of_name if a.state == "COMMITTED"]
    latest = {"id": committed[-1].id, "versionIndex": committed[-1].version} if committed else None
    answer = {"id": artifact.id, "state": artifact.state}
    return {
        "createArtifact": {"artifact": answer | {"artifactSequence": {"latestArtifact": latest}}}
    }


def create_manifest(state: State, v: Variables) -> Any:
    artifact = state.artifact(v["artifactID"])
    artifact.manifest = f"{artifact.id}/manifest/{v['name']}"
    url = f"{v['@url']}/storage/{artifact.manifest}" if v["includeUpload"] else None
    file = {"id": f"file-{artifact.id}", "uploadUrl": url, "uploadHeaders": []}
    manifest = {"id": f"manifest-{artifact.id}", "file": file}
    return {"createArtifactManifest": {"artifactManifest": manifest}}


def update_manifest(state: State, v: Variables) -> Any:
    artifact = state.artifact(v["artifactManifestID"].removeprefix("manifest-"))
    url = f"{v['@url']}/storage/{artifact.manifest}" if v["includeUpload"] else None
    file = {"id": f"file-{artifact.id}", "uploadUrl": url, "uploadHeaders": []}
    manifest = {"id": v["artifactManifestID"], "file": file}
    return {"updateArtifactManifest": {"artifactManifest": manifest}}


def create_files(state: State, v: Variables) -> Any:
    edges = []
    for spec in v["input"]["artifactFiles"]:
        artifact = state.artifact(spec["artifactID"])
        artifact.files[spec["name"]] = f"{artifact.id}/files/{spec['name']}"
        node = {
            "name": spec["name"],
            "storagePath": artifact.files[spec["name"]],
            "uploadUrl": f"{v['@url']}/storage/{artifact.files[spec['name']]}",
            "uploadHeaders": [],
            "uploadMultipartUrls": None,
            "artifact": {"id": artifact.id},
        }
        edges.append({"node": node})
    return {"createArtifactFiles": {"files": {"edges": edges}}}


def commit(state: State, v: Variables) -> Any:
    artifact = state.artifact(v["artifactID"])
    artifact.state = "COMMITTED"
    return {"commitArtifact": {"artifact": {"id": artifact.id, "digest": artifact.digest}}}


def digest_algorithm(state: State, v: Variables) -> Any:
    return {"project": {"artifactType": None}}


def no_xxhash(state: State, v: Variables) -> Any:
    return {"entity": {"xxhashDigestsEnabled": False}}


def artifact_type(state: State, v: Variables) -> Any:
    found = find(state, v["project"], v["name"])
    answer = None if found is None else {"artifactType": {"name": found.type}}
    return {"project": project_of(v["project"]) | {"artifact": answer}}


def find(state: State, project: str, name: str) -> Artifact | None:
    """The version that ``NAME:ALIAS`` means."""
    name, _, alias = name.partition(":")
    for one in reversed(state.artifacts):
        named = {*one.aliases, f"v{one.version}"}
        if (one.project, one.name) == (project, name) and (alias or "latest") in named:
            return one
    return None


def client_id(state: State, v: Variables) -> Any:
    found = [a for a in state.artifacts if a.client_id == v["clientID"]]
    return {"clientIDMapping": {"serverID": found[0].id} if found else None}


def use(state: State, v: Variables) -> Any:
    given = v.get("input") or v  # the client has two forms
    artifact = state.artifact(given["artifactID"])
    artifact.used_by.append(given["runName"])
    return {"useArtifact": {"artifact": {"id": artifact.id}}}


OPERATIONS = {
    "UseArtifact": use,
    "CreateArtifact": create,
    "CreateArtifactManifest": create_manifest,
    "UpdateArtifactManifest": update_manifest,
    "CreateArtifactFiles": create_files,
    "CommitArtifact": commit,
    "FetchArtifactDigestAlgorithm": digest_algorithm,
    "XXHashDigestsEnabled": no_xxhash,
    "ArtifactType": artifact_type,
    "ClientIDMapping": client_id,
}
