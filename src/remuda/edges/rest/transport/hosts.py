"""The host names by which clients may call the HTTP API (REST-145).

A foreign page can make its own name point to this server (DNS rebinding). Then the browser believes
that the answers are of the page's own origin and lets the page read them, unless the server refuses
names that are not its own.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Collection
from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from remuda.edges.rest.requests.errors import ApiError
from remuda.edges.rest.shapes import dao
from remuda.edges.rest.transport.access import is_open

# The name that stands for all names.
ANY_HOST: Final = "*"

_LOCAL: Final = "localhost"
_NAME_SHOWN: Final = 100


def own_hosts(named: str, address: str) -> frozenset[str] | None:
    """Return the names of this server: those listed, of its address, of the machine; None: any.

    ``named``: separated by commas.
    """
    listed = frozenset(each.strip().lower().rstrip(".") for each in named.split(","))
    if ANY_HOST in listed:
        return None
    return (listed | {address.lower(), socket.gethostname().lower()}) - {""}


class KnownHosts:
    """Refuses requests that call the server by a name it does not have. Implements: REST-145.

    Addresses are always accepted, because they cannot be redirected. So are the probes, whose
    answers are harmless.
    """

    def __init__(self, app: ASGIApp, hosts: Collection[str] | None) -> None:
        self._app = app
        self._hosts = hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] == "http" and self._hosts is not None and not is_open(scope["path"]):
            for sent in Request(scope).headers.getlist("host"):
                name = _name(sent)
                if not self._knows(name):
                    await _refusal(name)(scope, receive, send)
                    return
        await self._app(scope, receive, send)

    def _knows(self, name: str) -> bool:
        assert self._hosts is not None
        if not name or name == _LOCAL or name.endswith("." + _LOCAL) or name in self._hosts:
            return True
        try:
            ipaddress.ip_address(name.strip("[]"))
        except ValueError:
            return False
        return True


def _name(host: str) -> str:
    """Return the name in a Host header, without its port."""
    text = host.strip().lower()
    bare, colon, port = text.rpartition(":")
    if colon and port.isdecimal() and not (text.startswith("[") and text.endswith("]")):
        text = bare
    return text.rstrip(".")


def _refusal(name: str) -> Response:
    error = ApiError(421, f"This server is not known as {name[:_NAME_SHOWN]}; see --rest-hosts")
    headers = {"Content-Type": dao.JSON_TYPE, "Cache-Control": "no-store"}
    return Response(dao.encode(error.body()), error.status, headers=headers)
