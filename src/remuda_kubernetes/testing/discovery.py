"""What the server says about itself: its release, its groups, versions and kinds, its OpenAPI.

The OpenAPI documents name the paths and parameters that kubectl looks for before it writes, and no
schemas; with them kubectl leaves validation to the server.
"""

from __future__ import annotations

from typing import Final

from remuda_kubernetes.testing.forms import Form, form
from remuda_kubernetes.testing.resources import (
    RESOURCES,
    Resource,
    subresource_verbs,
    subresources,
)
from remuda_kubernetes.testing.settings import Settings
from remuda_kubernetes.testing.statuses import Json

# Groups without stored objects, whose requests are answered all the same.
_REVIEWS: Final = "authorization.k8s.io"
# The smallest OpenAPI v2 document as protobuf. Fields: 1 the version, 2 the title, 8 the paths.
OPENAPI_V2_PROTOBUF: Final = b"\n\x032.0\x12\x12\n\nKubernetes\x12\x04test\x42\x00"
OPENAPI_V2: Final[Json] = {
    "swagger": "2.0",
    "info": {"title": "Kubernetes", "version": "test"},
    "paths": {},
    "definitions": {},
}


class Discovery:
    """The kinds that a release offers."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.forms: dict[tuple[str, str, str], Form] = {
            (resource.group, version, resource.plural): form(resource, version)
            for resource in RESOURCES
            for version in resource.offered(settings)
        }
        self._groups: dict[str, list[str]] = {}
        for group, version, _ in self.forms:
            versions = self._groups.setdefault(group, [])
            if version not in versions:
                versions.append(version)
        self._groups[_REVIEWS] = ["v1"]

    def answer(self, parts: list[str], address: str) -> Json | None:
        """Return the answer to a path, by its parts; None: it is no question of discovery."""
        match parts:
            case ["version"]:
                return self.release()
            case ["api"]:
                return self.core_versions(address)
            case ["api", version]:
                return self.resources("", version)
            case ["apis", *rest]:
                return self._about_groups(rest)
            case ["openapi", *rest]:
                return self._openapi(rest)
            case _:
                return None

    def _about_groups(self, parts: list[str]) -> Json | None:
        match parts:
            case []:
                return self.groups()
            case [group]:
                return self.group(group)
            case [group, version]:
                return self.resources(group, version)
            case _:
                return None

    def _openapi(self, parts: list[str]) -> Json | None:
        match parts:
            case ["v2"]:
                return OPENAPI_V2
            case ["v3"]:
                return self.openapi_v3()
            case ["v3", "api", version]:
                return self.openapi_v3_of("", version)
            case ["v3", "apis", group, version]:
                return self.openapi_v3_of(group, version)
            case _:
                return None

    def release(self) -> Json:
        """Return the answer to /version."""
        return {
            "major": "1",
            "minor": str(self.settings.minor),
            "gitVersion": f"v1.{self.settings.minor}.0-remuda.testing",
            "gitCommit": "0" * 40,
            "gitTreeState": "clean",
            "buildDate": "1970-01-01T00:00:00Z",
            "goVersion": "none",
            "compiler": "none",
            "platform": "linux/amd64",
        }

    def core_versions(self, address: str) -> Json:
        """Return the answer to /api."""
        place = {"clientCIDR": "0.0.0.0/0", "serverAddress": address}
        return {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": [place]}

    def groups(self) -> Json:
        """Return the answer to /apis."""
        found = [_group(name, versions) for name, versions in self._groups.items() if name]
        return {"kind": "APIGroupList", "apiVersion": "v1", "groups": found}

    def group(self, name: str) -> Json | None:
        """Return the answer to /apis/GROUP; None: there is no such group."""
        versions = self._groups.get(name) if name else None
        if versions is None:
            return None
        return {"kind": "APIGroup", "apiVersion": "v1", **_group(name, versions)}

    def resources(self, group: str, version: str) -> Json | None:
        """Return the kinds of a version of a group; None: there is no such version."""
        if version not in self._groups.get(group, ()):
            return None
        found: list[Json] = []
        for (a_group, a_version, _), each in self.forms.items():
            if (a_group, a_version) == (group, version):
                found += self._entries(each.resource)
        if group == _REVIEWS:
            found = [_review_entry("SelfSubjectAccessReview"), _review_entry("SubjectAccessReview")]
        core = {} if group == "" else {"apiVersion": "v1"}
        return {
            "kind": "APIResourceList",
            **core,
            "groupVersion": f"{group}/{version}" if group else version,
            "resources": sorted(found, key=lambda each: str(each["name"])),
        }

    def _entries(self, resource: Resource) -> list[Json]:
        singular = resource.kind.lower() if self.settings.minor >= 27 else ""
        entry: Json = {
            "name": resource.plural,
            "singularName": singular,
            "namespaced": resource.namespaced,
            "kind": resource.kind,
            "verbs": list(resource.verbs),
        }
        if resource.short_names:
            entry["shortNames"] = list(resource.short_names)
        if resource.categories:
            entry["categories"] = list(resource.categories)
        return [
            entry,
            *(self._subentry(resource, n) for n in subresources(resource, self.settings)),
        ]

    def _subentry(self, resource: Resource, name: str) -> Json:
        entry: Json = {
            "name": f"{resource.plural}/{name}",
            "singularName": "",
            "namespaced": resource.namespaced,
            "kind": resource.kind,
            "verbs": list(subresource_verbs(name)),
        }
        if name == "binding":
            entry["kind"] = "Binding"
        if name == "eviction":
            version = "v1" if self.settings.minor >= 22 else "v1beta1"
            entry.update(group="policy", version=version, kind="Eviction")
        return entry

    def openapi_v3(self) -> Json:
        """Return the answer to /openapi/v3: where the documents of the versions are."""
        names = [
            (f"apis/{group}/{version}" if group else f"api/{version}")
            for group, versions in self._groups.items()
            for version in versions
        ]
        return {"paths": {n: {"serverRelativeURL": f"/openapi/v3/{n}?hash=0"} for n in names}}

    def openapi_v3_of(self, group: str, version: str) -> Json | None:
        """Return the document of a version of a group; None: there is no such version."""
        if version not in self._groups.get(group, ()):
            return None
        paths = {
            _object_path(each): {"patch": _patch_operation(each)}
            for (a_group, a_version, _), each in self.forms.items()
            if (a_group, a_version) == (group, version)
        }
        return {"openapi": "3.0.0", "info": OPENAPI_V2["info"], "paths": paths}


def _group(name: str, versions: list[str]) -> Json:
    listed = [{"groupVersion": f"{name}/{each}", "version": each} for each in versions]
    return {"name": name, "versions": listed, "preferredVersion": listed[0]}


def _review_entry(kind: str) -> Json:
    return {
        "name": f"{kind.lower()}s",
        "singularName": "",
        "namespaced": False,
        "kind": kind,
        "verbs": ["create"],
    }


def _object_path(each: Form) -> str:
    root = f"/apis/{each.api_version}" if each.resource.group else f"/api/{each.version}"
    within = "/namespaces/{namespace}" if each.resource.namespaced else ""
    return f"{root}{within}/{each.resource.plural}/{{name}}"


def _patch_operation(each: Form) -> Json:
    names = ("dryRun", "fieldManager", "fieldValidation", "force")
    kind = {"group": each.resource.group, "version": each.version, "kind": each.resource.kind}
    text = {"type": "string"}
    return {
        "x-kubernetes-action": "patch",
        "x-kubernetes-group-version-kind": kind,
        "parameters": [{"name": name, "in": "query", "schema": text} for name in names],
        "responses": {"200": {"description": "OK"}},
    }
