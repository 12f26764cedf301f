"""The Lease as the server keeps it: read, created, and written only if nobody wrote it since."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

import msgspec

from remuda_kubernetes.api.connection import Requests
from remuda_kubernetes.api.errors import NOT_FOUND, ApiError
from remuda_kubernetes.api.pace import Wall
from remuda_kubernetes.objects.cluster import Lease, LeaseSpec
from remuda_kubernetes.objects.kinds import LEASE
from remuda_kubernetes.objects.values import UNDECODABLE, plain

_VERSION: Final = "v1"
_TYPE: Final = {"apiVersion": f"{LEASE.group}/{_VERSION}", "kind": LEASE.name}


class StoredLease:
    """One lease of the server, written in the name of ``identity`` for ``duration`` seconds.

    All methods raise ApiError. ``timeout``: how long they may take, in seconds.
    """

    def __init__(
        self,
        requests: Requests,
        namespace: str,
        name: str,
        *,
        identity: str,
        duration: int,
        wall: Wall,
    ) -> None:
        self._requests: Final = requests
        self._namespace: Final = namespace
        self._name: Final = name
        self._identity: Final = identity
        self._duration: Final = duration
        self._wall: Final = wall

    async def read(self, timeout: float) -> Lease | None:  # noqa: ASYNC109 - of the request
        """Return the lease, or None if there is none."""
        try:
            return await self._ask("GET", self._path(self._name), None, timeout)
        except ApiError as error:
            if error.status == NOT_FOUND:
                return None
            raise

    async def take(
        self,
        lease: Lease | None,
        timeout: float,  # noqa: ASYNC109 - of the request
    ) -> Lease:
        """Take or renew the lease, or create it if there is none."""
        if lease is not None:
            return await self._put(lease, self._spec(lease.spec), timeout)
        metadata = {"name": self._name, "namespace": self._namespace}
        body = {**_TYPE, "metadata": metadata, "spec": plain(self._spec(LeaseSpec()))}
        return await self._ask("POST", self._path(), msgspec.json.encode(body), timeout)

    async def give_back(
        self,
        lease: Lease,
        timeout: float,  # noqa: ASYNC109 - of the request
    ) -> None:
        """Let another take the lease at once."""
        given = msgspec.structs.replace(
            lease.spec, holder_identity="", lease_duration_seconds=1, renew_time=self._now()
        )
        await self._put(lease, given, timeout)

    def _spec(self, before: LeaseSpec) -> LeaseSpec:
        now = self._now()
        ours = before.holder_identity == self._identity
        transitions = before.lease_transitions or 0
        return LeaseSpec(
            holder_identity=self._identity,
            lease_duration_seconds=self._duration,
            acquire_time=(before.acquire_time or now) if ours else now,
            renew_time=now,
            lease_transitions=transitions if ours else transitions + 1,
        )

    async def _put(self, lease: Lease, spec: LeaseSpec, seconds: float) -> Lease:
        """Write the lease; a conflict if it was written since it was read."""
        body = {**_TYPE, "metadata": plain(lease.metadata), "spec": plain(spec)}
        return await self._ask("PUT", self._path(self._name), msgspec.json.encode(body), seconds)

    async def _ask(self, method: str, path: str, body: bytes | None, seconds: float) -> Lease:
        answer = await self._requests.request(method, path, body=body, timeout=seconds, paced=False)
        try:
            return msgspec.json.decode(answer.body, type=Lease)
        except UNDECODABLE as error:
            raise ApiError(f"{method} {path}: answered with what is no Lease: {error}") from None

    def _path(self, name: str = "") -> str:
        return LEASE.path(_VERSION, self._namespace, name)

    def _now(self) -> str:
        moment = datetime.fromtimestamp(self._wall(), UTC)
        return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
