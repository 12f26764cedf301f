"""Requests to a server under test, and objects to send."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Self

import httpx2

Json = dict[str, Any]
PODS = "/api/v1/namespaces/default/pods"
NODES = "/api/v1/nodes"


def pod(name: str, *, node: str = "", labels: dict[str, str] | None = None, **spec: Any) -> Json:
    """A pod with one container."""
    resources = {"requests": {"cpu": "500m", "memory": "128Mi"}}
    container = {"name": "c", "image": "pause:3.9", "resources": resources}
    full: Json = {"schedulerName": "remuda", "containers": [container], **spec}
    if node:
        full["nodeName"] = node
    metadata: Json = {"name": name, "namespace": "default", "labels": labels or {}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": full}


class Calls:
    """A client that answers with status and JSON."""

    def __init__(self, address: str, token: str | None = None) -> None:
        headers = {"authorization": f"Bearer {token}"} if token else {}
        self.http = httpx2.Client(base_url=address, timeout=60, headers=headers)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.http.close()

    def get(self, path: str, **query: str) -> tuple[int, Json]:
        """Read an object or a list."""
        answer = self.http.get(path, params=query)
        return answer.status_code, answer.json()

    def post(self, path: str, body: Json, **query: str) -> tuple[int, Json]:
        """Create something."""
        answer = self.http.post(path, json=body, params=query)
        return answer.status_code, answer.json()

    def put(self, path: str, body: Json) -> tuple[int, Json]:
        """Replace an object."""
        answer = self.http.put(path, json=body)
        return answer.status_code, answer.json()

    def patch(self, path: str, body: Any, kind: str = "merge-patch+json") -> tuple[int, Json]:
        """Change an object."""
        headers = {"content-type": f"application/{kind}"}
        answer = self.http.patch(path, content=json.dumps(body), headers=headers)
        return answer.status_code, answer.json()

    def delete(self, path: str, body: Json | None = None, **query: str) -> tuple[int, Json]:
        """Delete an object or a collection."""
        answer = self.http.request("DELETE", path, json=body, params=query)
        return answer.status_code, answer.json()

    def made(self, path: str, body: Json) -> Json:
        """Create an object that must be accepted; returns it."""
        code, answer = self.post(path, body)
        assert code == 201, answer
        return answer

    def bound(self, name: str, node: str, uid: str = "") -> tuple[int, Json]:
        """Bind a pod of the default namespace."""
        metadata = {"name": name, "namespace": "default", **({"uid": uid} if uid else {})}
        target = {"apiVersion": "v1", "kind": "Node", "name": node}
        binding = {"apiVersion": "v1", "kind": "Binding", "metadata": metadata, "target": target}
        return self.post(f"{PODS}/{name}/binding", binding)

    @contextmanager
    def watch(self, path: str, **query: str) -> Iterator[Iterator[Json]]:
        """Events of a watch, as they come."""
        with self.http.stream("GET", path, params={"watch": "1", **query}) as stream:
            assert stream.status_code == 200
            yield (json.loads(line) for line in stream.iter_lines())


def names(listed: Json) -> list[str]:
    """The names of the members of a list."""
    return [each["metadata"]["name"] for each in listed["items"]]


def seen(event: Json) -> tuple[str, str]:
    """What happened to whom."""
    return event["type"], event["object"]["metadata"]["name"]
