"""A small client of any API server, for what lives around one: kubelets, controllers, tests.

It reads whole objects as dictionaries. A server is given as an address and a token, or as a
kubeconfig file with certificates.
"""

from __future__ import annotations

import base64
import contextlib
import ssl
import tempfile
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import httpx2
import msgspec
import yaml

from remuda_kubernetes.testing.statuses import Json

MERGE: Final = "application/merge-patch+json"
STRATEGIC: Final = "application/strategic-merge-patch+json"
_SECONDS: Final = 60.0


class ApiFailure(Exception):  # noqa: N818 - an answer of the server
    """The server refused. ``code`` is the HTTP status, ``reason`` that of the Status object."""

    def __init__(self, code: int, reason: str, message: str) -> None:
        super().__init__(f"{code} {reason}: {message}")
        self.code = code
        self.reason = reason


class Api:
    """Requests to one API server; used in one event loop, as a context.

    ``connections``: how many requests run at the same time.
    """

    def __init__(
        self,
        address: str,
        *,
        token: str | None = None,
        tls: ssl.SSLContext | None = None,
        connections: int = 64,
    ) -> None:
        self._http = httpx2.AsyncClient(
            base_url=address,
            headers={"authorization": f"Bearer {token}"} if token else {},
            verify=tls if tls is not None else True,
            timeout=_SECONDS,
            limits=httpx2.Limits(max_connections=None, max_keepalive_connections=connections),
        )

    @classmethod
    def from_kubeconfig(cls, path: Path, *, connections: int = 64) -> Api:
        """Return a client of the current context. Raises: KeyError, OSError, ValueError."""
        told = yaml.safe_load(path.read_text())
        context = _named(told["contexts"], told["current-context"])["context"]
        cluster = _named(told["clusters"], context["cluster"])["cluster"]
        user = _named(told["users"], context["user"]).get("user") or {}
        tls = _tls(cluster, user, path.parent) if cluster["server"].startswith("https") else None
        return cls(cluster["server"], token=user.get("token"), tls=tls, connections=connections)

    async def __aenter__(self) -> Self:
        """Begin."""
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close all connections."""
        await self._http.aclose()

    async def get(self, path: str, **query: str) -> Json:
        """Return an object or a list. Raises: ApiFailure, httpx2.HTTPError."""
        return await self._call("GET", path, query=query)

    async def create(self, path: str, body: Json) -> Json:
        """Create an object, or post to a sub-resource. Raises: ApiFailure, httpx2.HTTPError."""
        return await self._call("POST", path, body)

    async def replace(self, path: str, body: Json) -> Json:
        """Replace an object. Raises: ApiFailure, httpx2.HTTPError."""
        return await self._call("PUT", path, body)

    async def patch(self, path: str, body: Json, kind: str = MERGE) -> Json:
        """Change an object. Raises: ApiFailure, httpx2.HTTPError."""
        return await self._call("PATCH", path, body, kind=kind)

    async def delete(
        self, path: str, *, grace: int | None = None, uid: str = "", propagation: str = ""
    ) -> Json:
        """Delete an object, only if it has the identity. Raises: ApiFailure, httpx2.HTTPError."""
        options: Json = {}
        if grace is not None:
            options["gracePeriodSeconds"] = grace
        if uid:
            options["preconditions"] = {"uid": uid}
        if propagation:
            options["propagationPolicy"] = propagation
        return await self._call("DELETE", path, options)

    async def versions(self, group: str) -> list[str]:
        """Return the versions of a group that the server has, its favourite first; or none."""
        try:
            found = await self.get(f"/apis/{group}")
        except ApiFailure as failure:
            if failure.code == 404:
                return []
            raise
        names = [each["version"] for each in found["versions"]]
        favourite = found["preferredVersion"]["version"]
        return [favourite, *(name for name in names if name != favourite)]

    async def watch(self, path: str, version: str, **query: str) -> AsyncIterator[Json]:
        """Yield the events after a version until the server ends the watch.

        Raises: ApiFailure, httpx2.HTTPError.
        """
        query = {"watch": "1", "resourceVersion": version, "allowWatchBookmarks": "1", **query}
        timeout = httpx2.Timeout(_SECONDS, read=None)
        async with self._http.stream("GET", path, params=query, timeout=timeout) as stream:
            if stream.status_code != 200:
                raise _failure(stream.status_code, await stream.aread())
            async for line in stream.aiter_lines():
                event = msgspec.json.decode(line, type=dict[str, Any])
                if event["type"] == "ERROR":
                    raise _failed_by(event["object"])
                yield event

    async def _call(
        self,
        method: str,
        path: str,
        body: Json | None = None,
        *,
        query: Mapping[str, str] | None = None,
        kind: str = "application/json",
    ) -> Json:
        answer = await self._http.request(
            method,
            path,
            params=query,
            content=None if body is None else msgspec.json.encode(body),
            headers=None if body is None else {"content-type": kind},
        )
        if answer.is_success:
            return msgspec.json.decode(answer.content, type=dict[str, Any])
        raise _failure(answer.status_code, answer.content)


def _failure(code: int, content: bytes) -> ApiFailure:
    try:
        status = msgspec.json.decode(content, type=dict[str, Any])
    except msgspec.DecodeError:
        return ApiFailure(code, "", content[:200].decode(errors="replace"))
    return _failed_by({"code": code, **status})


def _failed_by(status: Json) -> ApiFailure:
    return ApiFailure(
        int(status.get("code", 0)), str(status.get("reason", "")), str(status.get("message", ""))
    )


def _named(entries: list[Json], name: str) -> Json:
    """Return the entry of a kubeconfig with a name. Raises: KeyError."""
    for entry in entries:
        if entry["name"] == name:
            return entry
    raise KeyError(name)


def _tls(cluster: Json, user: Json, folder: Path) -> ssl.SSLContext:
    """Return how the server is known, and how the client shows who it is."""
    tls = ssl.create_default_context()
    authority = _content(cluster, "certificate-authority", folder)
    if authority is not None:
        tls.load_verify_locations(cadata=authority.decode())
    if cluster.get("insecure-skip-tls-verify"):
        tls.check_hostname = False
        tls.verify_mode = ssl.CERT_NONE
    certificate = _content(user, "client-certificate", folder)
    key = _content(user, "client-key", folder)
    if certificate is not None and key is not None:
        # The library reads certificates from files only.
        with contextlib.ExitStack() as files:
            place = Path(files.enter_context(tempfile.TemporaryDirectory()))
            chain = place / "chain.pem"
            chain.touch(mode=0o600)
            chain.write_bytes(certificate + b"\n" + key)
            tls.load_cert_chain(chain)
    return tls


def _content(entry: Json, name: str, folder: Path) -> bytes | None:
    """Return what an entry of a kubeconfig has itself, or in a file."""
    if entry.get(f"{name}-data"):
        return base64.b64decode(entry[f"{name}-data"])
    return (folder / entry[name]).read_bytes() if entry.get(name) else None
