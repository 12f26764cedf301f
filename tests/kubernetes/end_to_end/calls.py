"""Calls of an API server as tests make them: plain JSON over HTTP, found by a kubeconfig."""

from __future__ import annotations

import base64
import json
import ssl
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import httpx2
import yaml

# Long, for the machine may be busy; only a test that fails takes it all.
SECONDS = 60.0


class Refused(Exception):  # noqa: N818 - the server's answer is what a test asked for
    """The server refused a call; ``status`` is the object of kind Status that it sent."""

    def __init__(self, status: dict[str, Any]) -> None:
        super().__init__(f"{status.get('code')} {status.get('reason')}: {status.get('message')}")
        self.status = status
        self.code = status.get("code")
        self.reason = status.get("reason")


class Api:
    """One client of one server. ``user``: a name and groups in whose name an administrator acts."""

    def __init__(
        self,
        kubeconfig: Path,
        *,
        seconds: float = SECONDS,
        user: tuple[str, Sequence[str]] | None = None,
    ) -> None:
        settings = yaml.safe_load(kubeconfig.read_text())
        cluster = settings["clusters"][0]["cluster"]
        token = settings["users"][0]["user"].get("token", "")
        self._client = httpx2.Client(
            base_url=cluster["server"],
            verify=_trust(cluster.get("certificate-authority-data", "")),
            headers=_headers(token, user),
            timeout=seconds,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections."""
        self._client.close()

    def get(self, path: str, **parameters: str | int) -> Any:
        """Read an object or a list."""
        return _answer(self._client.get(path, params=parameters))

    def create(self, path: str, body: dict[str, Any]) -> Any:
        """Create an object in a collection, or call a subresource."""
        return _answer(self._client.post(path, json=body))

    def replace(self, path: str, body: dict[str, Any]) -> Any:
        """Replace an object."""
        return _answer(self._client.put(path, json=body))

    def merge(self, path: str, body: dict[str, Any]) -> Any:
        """Patch an object by a merge patch (RFC 7386)."""
        return self._patch(path, body, "application/merge-patch+json")

    def strategic(self, path: str, body: dict[str, Any]) -> Any:
        """Patch an object by a strategic merge patch, which finds entries of lists by name."""
        return self._patch(path, body, "application/strategic-merge-patch+json")

    def _patch(self, path: str, body: dict[str, Any], kind: str) -> Any:
        headers = {"Content-Type": kind}
        return _answer(self._client.patch(path, content=json.dumps(body), headers=headers))

    def delete(self, path: str, **parameters: str | int) -> Any:
        """Delete an object or a collection."""
        return _answer(self._client.delete(path, params=parameters))

    @contextmanager
    def watch(self, path: str, **parameters: str | int) -> Iterator[Iterator[dict[str, Any]]]:
        """Watch a collection; the events come as the server sends them."""
        asked = {"watch": "true", **parameters}
        with self._client.stream("GET", path, params=asked) as response:
            if response.status_code != httpx2.codes.OK:
                response.read()
                _answer(response)
            yield (json.loads(line) for line in response.iter_lines())


def _headers(token: str, user: tuple[str, Sequence[str]] | None) -> list[tuple[str, str]]:
    found = [("Authorization", f"Bearer {token}")] if token else []
    if user is not None:
        name, groups = user
        found += [("Impersonate-User", name), *(("Impersonate-Group", each) for each in groups)]
    return found


def _trust(authority: str) -> ssl.SSLContext:
    return ssl.create_default_context(cadata=base64.b64decode(authority).decode() or None)


def _answer(response: httpx2.Response) -> Any:
    body = response.json() if response.content else {}
    if response.is_error:
        raise Refused(body)
    return body
