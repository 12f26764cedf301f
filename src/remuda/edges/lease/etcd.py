"""The lease in etcd: one key that exists as long as its holder renews, and that one creates.

The key is created only if it does not exist, and it is tied to a lease of etcd, which removes it
when nobody renews. The revision at which it was created is the fencing token: revisions only grow.
The library is that of OpenStack, which speaks etcd's HTTP gateway and knows one member at a time.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from remuda.base.duration import SECOND
from remuda.edges.addresses import address_text
from remuda.edges.lease.keeper import LeaseKeeper
from remuda.edges.lease.settings import LeaseSettings
from remuda.runtime.lease.candidacy import (
    Answer,
    Held,
    Holder,
    Look,
    Renew,
    Renewed,
    Request,
    Seen,
    Take,
    Taken,
    request_seconds,
)
from remuda.runtime.lease.errors import StoreError

_Json: TypeAlias = Mapping[str, Any]

# etcd says this when the token that it gave for a password is too old.
_STALE_LOGIN: Final = "invalid auth token"


class EtcdStore:
    """The lease of one process in etcd. One thread; each call takes a bounded time.

    ``identity``: a name that no other process has. ``address``: what others are told about where
    this process listens. A member that fails is not asked again before the others.
    """

    def __init__(self, settings: LeaseSettings, identity: str, address: str) -> None:
        self._settings = settings
        self._value = json.dumps({"identity": identity, "address": address})
        self._key = settings.name
        self._clients = [_client(settings, host, port) for host, port in settings.members]
        self._present = 0

    def perform(self, request: Request) -> Answer:
        """Carry out a request. Raises: StoreError."""
        answer: Answer = self._asking(lambda client: self._perform(client, request))
        return answer

    def give_back(self, held: Held) -> None:
        """End the lease, and with it the key, so that another may take it. Raises: StoreError."""
        self._asking(lambda client: _post(client, "/lease/revoke", {"ID": held.lease_id}))

    def _perform(self, client: Any, request: Request) -> Answer:
        match request:
            case Look():
                return Seen(self._holder(client))
            case Take():
                return self._take(client)
            case Renew(held):
                return self._renew(client, held)

    def _take(self, client: Any) -> Answer:
        granted = _post(client, "/lease/grant", {"TTL": self._settings.ttl_seconds, "ID": 0})
        lease_id, ttl_ns = int(granted["ID"]), int(granted["TTL"]) * SECOND
        key = _encoded(self._key)
        put = {"key": key, "value": _encoded(self._value), "lease": lease_id}
        done = _post(
            client,
            "/kv/txn",
            {
                "compare": [
                    {"key": key, "result": "EQUAL", "target": "CREATE", "create_revision": 0}
                ],
                "success": [{"request_put": put}],
                "failure": [],
            },
        )
        if not done.get("succeeded"):
            _post(client, "/lease/revoke", {"ID": lease_id})
            return Seen(self._holder(client))
        return Taken(Held(lease_id, int(done["header"]["revision"])), ttl_ns)

    def _renew(self, client: Any, held: Held) -> Answer:
        """Renew the lease, and look whether its key is still ours: somebody may delete keys."""
        renewed = _post(client, "/lease/keepalive", {"ID": held.lease_id})
        ttl_ns = int(renewed["result"].get("TTL", 0)) * SECOND
        found = self._holder(client) if ttl_ns > 0 else None
        return Renewed(ttl_ns if found is not None and found.held == held else 0)

    def _holder(self, client: Any) -> Holder | None:
        found = _post(client, "/kv/range", {"key": _encoded(self._key)}).get("kvs")
        if not found:
            return None
        entry = found[0]
        held = Held(int(entry.get("lease", 0)), int(entry["create_revision"]))
        said = json.loads(base64.b64decode(entry.get("value", "")))
        return Holder(str(said["identity"]), str(said["address"]), held)

    def _asking(self, work: Callable[[Any], Any]) -> Any:
        """Let a member do work; after a failure the next one has its turn the next time."""
        client = self._clients[self._present]
        try:
            return self._known(client, work)
        except Exception as error:  # noqa: BLE001 - the library lets errors of others through
            self._present = (self._present + 1) % len(self._clients)
            where = address_text((client.host, client.port))
            raise StoreError(f"etcd at {where}: {_one_line(error)}") from None

    def _known(self, client: Any, work: Callable[[Any], Any]) -> Any:
        """Do work as the user who is named, who says his password first, and when it is due."""
        if not self._settings.user:
            return work(client)
        if "Authorization" not in client.session.headers:
            self._log_in(client)
        try:
            return work(client)
        except Exception as error:
            if _STALE_LOGIN not in f"{error} {getattr(error, 'detail_text', '')}":
                raise
        self._log_in(client)
        return work(client)

    def _log_in(self, client: Any) -> None:
        client.session.headers.pop("Authorization", None)
        path = self._settings.password
        password = "" if path is None else path.read_text().strip()
        said = {"name": self._settings.user, "password": password}
        client.session.headers["Authorization"] = _post(client, "/auth/authenticate", said)["token"]


def keeper(settings: LeaseSettings) -> LeaseKeeper:
    """Return what takes part for this process, for the lease that the settings name."""

    def open_store(identity: str, address: str) -> EtcdStore:
        return EtcdStore(settings, identity, settings.advertised or address)

    return LeaseKeeper(settings.name, open_store)


def _client(settings: LeaseSettings, host: str, port: int) -> Any:
    """Return a client of one member that obeys no variables of the environment."""
    from etcd3gw.client import Etcd3Client  # noqa: PLC0415 - an extra

    client = Etcd3Client(
        host=host,
        port=port,
        protocol="https" if settings.tls else "http",
        ca_cert=None if settings.ca is None else str(settings.ca),
        cert_cert=None if settings.certificate is None else str(settings.certificate),
        cert_key=None if settings.key is None else str(settings.key),
        timeout=request_seconds(settings.ttl_seconds * SECOND),
        api_path="/v3/",
    )
    client.session.trust_env = False
    return client


def _post(client: Any, path: str, content: _Json) -> Any:
    return client.post(client.get_url(path), json=content)


def _encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _one_line(error: BaseException) -> str:
    """Return what went wrong: what etcd said, or the first of the errors that led to this one.

    The library's own text of an error of the network begins with the address and is long.
    """
    while (cause := _cause(error)) is not None:
        error = cause
    text = " ".join(str(getattr(error, "detail_text", "") or error).split())
    return f"{type(error).__name__}: {text[:200]}" if text else type(error).__name__


def _cause(error: BaseException) -> BaseException | None:
    """Return the error that led to another, unless its author says that it does not matter."""
    if error.__cause__ is not None or error.__suppress_context__:
        return error.__cause__
    return error.__context__
