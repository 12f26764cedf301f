"""Who may read the HTTP API: bearer tokens, and which paths need which role (REST-1, REST-55).

Requests of all paths pass through here, so that no route can be forgotten; a path that is not
listed needs an identity that may read. Without identities, which is the default, everybody may read
everything.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from remuda.base.errors import UsageError
from remuda.edges.addresses import address_text, source
from remuda.edges.callers import Found, KnownCallers
from remuda.edges.identities import AccessRules, read_access_rules
from remuda.edges.lockout import LockedOutError, RefusedTokenError
from remuda.edges.rest.requests.errors import ADMIN_NEEDED, NOBODY_KNOWN, ApiError
from remuda.edges.rest.shapes import dao
from remuda.edges.rest.transport.streaming import ABORT
from remuda.edges.rights import Identity
from remuda.telemetry.audit.records import (
    AUTHENTICATE,
    AUTHORIZE,
    DONE,
    READ_DEBUG,
    READ_STATE_DUMP,
    REFUSED,
    Audit,
    Record,
    no_audit,
)

# Probes have no token. The description of the API, the first page and the files of the web
# interface show nothing of the cluster, and a browser must get a page before anybody can type a
# token into it.
_OPEN: Final = frozenset({"/", "/livez", "/readyz", "/healthz", "/ws/v1/openapi.json"})
_OPEN_BELOW: Final = ("/ws/v1/docs", "/ui")

# Stacks, profiles and dumps (REST-55).
_FOR_ADMINS: Final = frozenset({"/ws/v1/stack", "/ws/v1/fullstatedump"})
_FOR_ADMINS_BELOW: Final = "/debug/"

_SCHEME: Final = "bearer"

# Where a request has the identity of its caller, once that is known.
_CALLER: Final = "remuda.caller"

# How the paths of state dumps end, and the statuses of answers to what is no path or no request.
_DUMP_END: Final = "/fullstatedump"
_NO_ANSWERS: Final = (301, 307, 404, 405)


def is_for_admins(path: str) -> bool:
    """Whether a path shows the inside of the process or all of its state (REST-55)."""
    return path in _FOR_ADMINS or path.startswith(_FOR_ADMINS_BELOW)


def is_open(path: str) -> bool:
    """Whether a path is open to everybody, for all settings."""
    return path in _OPEN or any(path == top or path.startswith(top + "/") for top in _OPEN_BELOW)


def read_readers(path: Path | None, *, again: bool = False) -> AccessRules:
    """Read who may use the HTTP API; none if no file is named: everybody may (REST-1).

    Only tokens count here: a file that gRPC uses as well may have identities known by certificate.
    ``again``: the service runs; it is no mistake then if nobody may use it any more.
    Raises: UsageError, one line.
    """
    if path is None:
        return AccessRules()
    known = read_access_rules(path, certificates=True, again=again)
    readers = tuple([each for each in known.identities if each.has_token and may_read(each)])
    if not (readers or known.issuers or again):
        raise UsageError(
            f"{path}: nobody may use the HTTP API; give an identity token-hash and read = true"
        )
    return AccessRules(readers, known.issuers)


def may_read(identity: Identity) -> bool:
    """Whether an identity may use the HTTP API at all."""
    return identity.read or identity.admin


def caller_of(request: Request) -> Identity | None:
    """Return the known caller of a request; None: callers are not checked."""
    found = request.scope.get(_CALLER)
    assert found is None or isinstance(found, Identity)
    return found


def origin_of(request: Request) -> str:
    """Return the address and port of the connection of a request, as the audit log has it."""
    client = request.client
    return "" if client is None else address_text((client.host, client.port))


def record_request(
    audit: Audit, what: str, request: Request, caller: Identity | None, refusal: str = ""
) -> None:
    """Put a request into the audit log. Rules: EXT-26."""
    audit(
        Record(
            what,
            REFUSED if refusal else DONE,
            "" if caller is None else caller.name,
            origin=origin_of(request),
            target=request.scope["path"],
            reason=refusal,
        )
    )


class Guard:
    """Lets requests of known identities through; refuses others with 401 or 403 (REST-1).

    The connection of a request ends when its caller loses its rights meanwhile (EXT-27).
    ``audit``: takes records of refusals, and of what shows the inside of the process (EXT-26).
    """

    def __init__(self, app: ASGIApp, callers: KnownCallers, audit: Audit = no_audit) -> None:
        self._app = app
        self._audit = audit
        self._callers = callers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] != "http" or is_open(scope["path"]):
            await self._app(scope, receive, send)
            return
        request = Request(scope)
        if self._callers.everybody:
            await self._pass_on(request, None, receive, send)
            return
        try:
            found, wrong = await self._caller(request)
        except RefusedTokenError as error:
            await self._not_accepted(request, error)(scope, receive, send)
            return
        refusal = self._refusal(request, None if found is None else found[0], wrong)
        if refusal is not None or found is None:
            assert refusal is not None
            await refusal(scope, receive, send)
            return
        abort = scope.get("state", {}).get(ABORT, _nothing_to_end)
        with self._callers.calling(*found, abort):
            await self._pass_on(request, found[0], receive, send)

    async def _pass_on(
        self, request: Request, caller: Identity | None, receive: Receive, send: Send
    ) -> None:
        if request.method != "OPTIONS" and is_for_admins(request.scope["path"]):
            send = self._watched(request, caller, send)
        await self._app({**request.scope, _CALLER: caller}, receive, send)

    async def _caller(self, request: Request) -> tuple[Found | None, str]:
        """Return who calls, and what to add to the challenge if nobody known does.

        Raises: RefusedTokenError.
        """
        sent = request.headers.getlist("authorization")
        scheme, _, token = sent[0].partition(" ") if len(sent) == 1 else ("", "", "")
        if scheme.lower() != _SCHEME:
            return None, ', error="invalid_token"' if sent else ""
        client = request.client
        address = "" if client is None else source(client.host)
        found = await self._callers.bearer(token.strip().encode("latin-1"), address)
        # Grants of an issuer may be for gRPC only.
        if found is not None and not may_read(found[0]):
            found = None
        return found, ', error="invalid_token"'

    def _not_accepted(self, request: Request, error: RefusedTokenError) -> Response:
        """Return the refusal of a token that is not accepted, for now or at all. Rules: EXT-29."""
        record_request(self._audit, AUTHENTICATE, request, None, error.text)
        headers = {"WWW-Authenticate": 'Bearer realm="remuda"'}
        if isinstance(error, LockedOutError):
            headers["Retry-After"] = str(max(1, math.ceil(error.seconds)))
        else:
            headers["WWW-Authenticate"] += ', error="invalid_token"'
        return _response(ApiError(401, error.text), headers)

    def _refusal(self, request: Request, caller: Identity | None, wrong: str) -> Response | None:
        if caller is None:
            record_request(self._audit, AUTHENTICATE, request, None, "nobody known calls")
            challenge = f'Bearer realm="remuda"{wrong}'
            return _response(ApiError(401, NOBODY_KNOWN), {"WWW-Authenticate": challenge})
        if not caller.admin and is_for_admins(request.scope["path"]):
            record_request(self._audit, AUTHORIZE, request, caller, "is no administrator")
            return _response(ApiError(403, ADMIN_NEEDED), {})
        return None

    def _watched(self, request: Request, caller: Identity | None, send: Send) -> Send:
        """Return a function that sends an answer, and records it when it begins.

        A path that does not exist shows nothing.
        """
        is_dump = request.scope["path"].endswith(_DUMP_END)
        what = READ_STATE_DUMP if is_dump else READ_DEBUG

        async def watched(message: Message) -> None:
            if message["type"] == "http.response.start":
                status = message["status"]
                if status < 300:
                    record_request(self._audit, what, request, caller)
                elif status not in _NO_ANSWERS:
                    record_request(self._audit, what, request, caller, f"HTTP status {status}")
            await send(message)

        return watched


def _nothing_to_end() -> None:
    """Stand for the end of a connection where there is none, as in tests without a listener."""


def _response(error: ApiError, headers: dict[str, str]) -> Response:
    headers = {**headers, "Content-Type": dao.JSON_TYPE, "Cache-Control": "no-store"}
    return Response(dao.encode(error.body()), error.status, headers=headers)
