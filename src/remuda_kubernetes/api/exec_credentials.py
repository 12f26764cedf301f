"""Tokens from a program, as kubeconfig files of cloud providers name one.

lightkube's own knows neither version v1 of this interface nor the time when a token expires, and
would start a program for each of a hundred requests. Source: the documentation of Kubernetes,
"client-go credential plugins".
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncGenerator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import httpx2
import msgspec
from lightkube.core.exceptions import ConfigError

from remuda_kubernetes.objects.values import UNDECODABLE

_GROUP: Final = "client.authentication.k8s.io"
_VERSIONS: Final = frozenset(f"{_GROUP}/{version}" for version in ("v1", "v1beta1", "v1alpha1"))
_TIMEOUT_SECONDS: Final = 60.0
_OUTPUT_LIMIT: Final = 1 << 20
_EARLY: Final = timedelta(seconds=30)
_UNAUTHORIZED: Final = 401


class ExecVariable(msgspec.Struct, frozen=True):
    """One variable of the program's environment."""

    name: str
    value: str = ""


class ExecPlan(msgspec.Struct, frozen=True, rename="camel"):
    """The program, as the kubeconfig file names it."""

    command: str
    api_version: str
    args: tuple[str, ...] | None = None
    env: tuple[ExecVariable, ...] | None = None
    provide_cluster_info: bool = False
    install_hint: str | None = None


class _Issued(msgspec.Struct, frozen=True, rename="camel"):
    token: str | None = None
    expiration_timestamp: str | None = None
    client_certificate_data: str | None = None


class _Credential(msgspec.Struct, frozen=True):
    status: _Issued | None = None


class ExecCredentials(httpx2.Auth):
    """Puts the program's token on requests; a new one before it expires and after a 401."""

    def __init__(self, plan: ExecPlan, source: str, cluster: Mapping[str, Any]) -> None:
        self._plan = plan
        self._source = source
        self._cluster = cluster
        self._bearer = ""
        self._expires: datetime | None = None
        self._lock = asyncio.Lock()

    async def async_auth_flow(
        self, request: httpx2.Request
    ) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        """Send with the token; once more with a new one if the server does not know it."""
        used = await self._current(refused="")
        request.headers["Authorization"] = used
        response = yield request
        if response.status_code == _UNAUTHORIZED:
            request.headers["Authorization"] = await self._current(refused=used)
            yield request

    async def _current(self, *, refused: str) -> str:
        """Return a token. All requests wait for one run of the program."""
        async with self._lock:
            late = self._expires is not None and datetime.now(UTC) > self._expires - _EARLY
            if not self._bearer or late or self._bearer == refused:
                issued = await self._run()
                self._bearer = f"Bearer {issued.token}"
                self._expires = _moment(issued.expiration_timestamp)
            return self._bearer

    async def _run(self) -> _Issued:
        plan = self._plan
        if plan.api_version not in _VERSIONS:
            raise ConfigError(f"{self._source}: exec: apiVersion {plan.api_version!r} is not known")
        output = await self._output()
        try:
            issued = msgspec.json.decode(output, type=_Credential).status
        except UNDECODABLE:
            # The output may hold a secret, so it is not shown.
            raise ConfigError(f"{self._named()} printed no ExecCredential") from None
        if issued is None or not issued.token:
            certificate = issued is not None and issued.client_certificate_data
            extra = " (client certificates are not supported)" if certificate else ""
            raise ConfigError(f"{self._named()} gave no token{extra}: log in anew")
        return issued

    async def _output(self) -> bytes:
        pipe = asyncio.subprocess.PIPE
        try:
            program = await asyncio.create_subprocess_exec(
                self._plan.command,
                *(self._plan.args or ()),
                env=self._environment(),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=pipe,
                stderr=pipe,
            )
        except OSError as error:
            hint = f": {self._plan.install_hint[:500]}" if self._plan.install_hint else ""
            raise ConfigError(f"{self._named()}: {error.strerror}{hint}") from None
        try:
            async with asyncio.timeout(_TIMEOUT_SECONDS):
                output, complaint = await program.communicate()
        except TimeoutError:
            raise ConfigError(f"{self._named()} took over {_TIMEOUT_SECONDS:.0f} s") from None
        finally:
            if program.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    program.kill()
                await program.wait()
        if program.returncode != 0:
            last = complaint[-300:].decode("utf-8", "replace").strip().rpartition("\n")[2]
            raise ConfigError(f"{self._named()} ended with {program.returncode}: {last}")
        return output[:_OUTPUT_LIMIT]

    def _named(self) -> str:
        return f"{self._source}: exec: {self._plan.command}"

    def _environment(self) -> dict[str, str]:
        told: dict[str, Any] = {"interactive": False}
        if self._plan.provide_cluster_info:
            told["cluster"] = dict(self._cluster)
        known = {"apiVersion": self._plan.api_version, "kind": "ExecCredential", "spec": told}
        return {
            **os.environ,
            "KUBERNETES_EXEC_INFO": msgspec.json.encode(known).decode(),
            **{each.name: each.value for each in self._plan.env or ()},
        }


def _moment(text: str | None) -> datetime | None:
    """Return the time; one that cannot be read means that the server will tell."""
    if not text:
        return None
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)
