"""What replicas share: the Secret with the certificate, and the webhook configurations.

Each is written only as it was read (``resourceVersion``), so that of two replicas that write at
once one is refused, and reads again.
"""

from __future__ import annotations

import base64
import binascii
from dataclasses import replace
from datetime import datetime
from typing import Any, Final

import msgspec

from remuda_kubernetes.admission import webhooks
from remuda_kubernetes.admission.pairs import Pair, PairError
from remuda_kubernetes.admission.reviews import Json
from remuda_kubernetes.admission.rotation import Stored, with_newer
from remuda_kubernetes.admission.webhooks import Target
from remuda_kubernetes.api.connection import Requests
from remuda_kubernetes.api.errors import NOT_FOUND, ApiError
from remuda_kubernetes.objects.values import UNDECODABLE

SECRET: Final = "remuda-admission"  # noqa: S105 - the name of the object
_SINCE: Final = "remuda/in-use-since"
_TRUSTED_SINCE: Final = "remuda/next-trusted-since"
_SECONDS: Final = 10.0
_LIMIT: Final = 4 << 20


class Store:
    """Reads and writes. All methods raise ApiError."""

    def __init__(self, requests: Requests, namespace: str) -> None:
        self._requests: Final = requests
        self._namespace: Final = namespace
        self._secrets: Final = f"/api/v1/namespaces/{namespace}/secrets"
        # As it was read last; None: it is not there.
        self._secret: Json | None = None

    async def read(self) -> Stored | None:
        """Return what is stored, None if it is not there or cannot be used."""
        self._secret = await self._get(f"{self._secrets}/{SECRET}")
        return None if self._secret is None else stored_of(self._secret)

    async def write(self, stored: Stored) -> None:
        """Replace what was read; a conflict if somebody wrote since."""
        body = secret_of(stored, self._secret, self._namespace)
        if self._secret is None:
            self._secret = await self._send("POST", self._secrets, body)
        else:
            self._secret = await self._send("PUT", f"{self._secrets}/{SECRET}", body)

    async def registered(self) -> bytes:
        """Return the authorities, in PEM, that both configurations trust."""
        found = await self.trusted()
        return found[0] if found and found[0] == found[1] else b""

    async def trusted(self) -> list[bytes]:
        """Return the authorities, in PEM, of each configuration; nothing if one asks nobody."""
        found = [webhooks.bundle_of(await self._get(_path(each))) for each in webhooks.PLURALS]
        bundles = [each for each in found if each is not None]
        return bundles if len(bundles) == len(found) else []

    async def register(self, target: Target) -> bool:
        """Create or correct both configurations; return whether anything was written."""
        wrote = False
        for plural in webhooks.PLURALS:
            found = await self._get(_path(plural))
            body = webhooks.merged(found, plural, _kept(target, found))
            if body is None:
                continue
            if found is None:
                await self._send("POST", f"/apis/{webhooks.GROUP}/{plural}", body)
            else:
                await self._send("PUT", _path(plural), body)
            wrote = True
        return wrote

    async def _get(self, path: str) -> Json | None:
        try:
            answer = await self._requests.request("GET", path, timeout=_SECONDS, limit=_LIMIT)
        except ApiError as error:
            if error.status == NOT_FOUND:
                return None
            raise
        return _read(answer.body, path)

    async def _send(self, method: str, path: str, body: Json) -> Json:
        content = msgspec.json.encode(body)
        answer = await self._requests.request(
            method, path, body=content, timeout=_SECONDS, limit=_LIMIT
        )
        return _read(answer.body, path)


def _kept(target: Target, found: Json | None) -> Target:
    """Return a target with the newer authorities that are registered."""
    if target.authorities is None:
        return target
    newer = with_newer(target.authorities, webhooks.trusted(found))
    return replace(target, authorities=newer)


def _path(plural: str) -> str:
    return f"/apis/{webhooks.GROUP}/{plural}/{webhooks.NAME}"


def _read(body: bytes, path: str) -> Json:
    try:
        return msgspec.json.decode(body, type=dict[str, Any])
    except UNDECODABLE as error:
        raise ApiError(f"{path}: the server answered with what is no object: {error}") from None


def secret_of(stored: Stored, found: Json | None, namespace: str) -> Json:
    """Return the Secret of what is to be stored; the rest of one that was found stays."""
    data = {
        "tls.crt": stored.current.certificate,
        "tls.key": stored.current.key,
        "ca.crt": stored.authorities,
    }
    if stored.coming is not None:
        data |= {"next.crt": stored.coming.certificate, "next.key": stored.coming.key}
    metadata: Json = dict((found or {}).get("metadata") or {})
    annotations = {**(metadata.get("annotations") or {}), _SINCE: stored.since.isoformat()}
    annotations.pop(_TRUSTED_SINCE, None)
    if stored.trusted_since is not None:
        annotations[_TRUSTED_SINCE] = stored.trusted_since.isoformat()
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "type": (found or {}).get("type", "Opaque"),
        "metadata": {
            **metadata,
            "name": SECRET,
            "namespace": namespace,
            "annotations": annotations,
        },
        "data": {name: base64.b64encode(text).decode() for name, text in data.items()},
    }


def stored_of(secret: Json) -> Stored | None:
    """Return what a Secret holds, None if that is not what is stored in one."""
    try:
        data = {n: base64.b64decode(t) for n, t in (secret.get("data") or {}).items()}
        annotations = secret["metadata"].get("annotations") or {}
        coming = Pair(data["next.crt"], data["next.key"]) if "next.crt" in data else None
        current = Pair(data["tls.crt"], data["tls.key"])
        # Whether they can be read at all; what is over is seen later.
        for each in (current, coming) if coming else (current,):
            each.chain()
        return Stored(
            current=current,
            since=_moment(annotations[_SINCE]),
            authorities=data["ca.crt"],
            coming=coming,
            trusted_since=_moment(annotations[_TRUSTED_SINCE])
            if _TRUSTED_SINCE in annotations
            else None,
        )
    except (KeyError, TypeError, ValueError, AttributeError, binascii.Error, PairError):
        return None


def _moment(text: str) -> datetime:
    """Return a moment with its zone. Raises: ValueError."""
    found = datetime.fromisoformat(text)
    if found.tzinfo is None:
        raise ValueError(text)
    return found
