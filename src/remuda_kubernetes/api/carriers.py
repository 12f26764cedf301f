"""What carries requests to the server: our own HTTP/1.1, or httpx2 where a proxy stands between.

The credentials are lightkube's (and ours) for httpx2; for our own HTTP their headers are taken from
them, so that both carriers know tokens, files of tokens and programs alike.
"""

from __future__ import annotations

import ipaddress
import os
import urllib.request
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import Final, Protocol
from urllib.parse import urlsplit

import httpx2

from remuda_kubernetes.api.http1 import Exchange, Http1, HttpError
from remuda_kubernetes.api.kubeconfig import Access

_UNAUTHORIZED: Final = 401
_DISCARDED: Final = 1 << 16


class Reply(Protocol):
    """An answer that has begun. It has to be closed."""

    @property
    def status(self) -> int:
        """The HTTP status."""

    @property
    def headers(self) -> Mapping[str, str]:
        """The headers; their names are in small letters."""

    def pieces(self) -> AsyncGenerator[bytes]:
        """Return the body as it comes. Raises: HttpError."""

    async def aclose(self) -> None:
        """End the exchange."""


class Carrier(Protocol):
    """Sends requests with credentials."""

    async def send(
        self, method: str, target: str, headers: Mapping[str, str], body: bytes | None
    ) -> Reply:
        """Return the answer as soon as it begins. Raises: HttpError, lightkube's ConfigError."""

    async def aclose(self) -> None:
        """End all connections."""


def carrier(access: Access, connections: int) -> Carrier:
    """Return what carries requests to a server."""
    proxy = access.proxy or _proxy_of_environment(access.server)
    return Proxied(access, proxy, connections) if proxy else Direct(access)


def _proxy_of_environment(server: str) -> str | None:
    """Return the proxy that HTTPS_PROXY and its like name, unless NO_PROXY excepts the server."""
    parts = urlsplit(server)
    proxy = urllib.request.getproxies().get(parts.scheme)
    host = parts.hostname or ""
    if not proxy or urllib.request.proxy_bypass(host) or _in_excepted_network(host):
        return None
    return proxy if "://" in proxy else f"http://{proxy}"


def _in_excepted_network(host: str) -> bool:
    """Whether NO_PROXY has a network, such as 10.0.0.0/8, that the address belongs to."""
    excepted = os.environ.get("NO_PROXY") or os.environ.get("no_proxy") or ""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    for each in excepted.split(","):
        try:
            if address in ipaddress.ip_network(each.strip(), strict=False):
                return True
        except ValueError:
            continue
    return False


class Direct:
    """Our own HTTP/1.1."""

    def __init__(self, access: Access) -> None:
        self._http: Final = Http1(access.server, access.tls, access.tls_name)
        self._auth: Final = access.auth
        # Credentials write their header into a request of httpx2; any one will do.
        self._carrier_of_header: Final = httpx2.Request("GET", access.server)

    async def send(
        self, method: str, target: str, headers: Mapping[str, str], body: bytes | None
    ) -> Exchange:
        """Send; once more with new credentials if the server does not know the first."""
        if self._auth is None:
            return await self._http.send(method, target, headers, body)
        async with aclosing(self._auth.async_auth_flow(self._carrier_of_header)) as flow:
            signed = await anext(flow)
            while True:
                told = {**headers, "authorization": signed.headers.get("authorization", "")}
                reply = await self._http.send(method, target, told, body)
                if reply.status != _UNAUTHORIZED:
                    return reply
                try:
                    refused = httpx2.Response(_UNAUTHORIZED, request=signed)
                    signed = await flow.asend(refused)
                except StopAsyncIteration:
                    return reply
                except BaseException:
                    await reply.aclose()
                    raise
                await _discard(reply)

    async def aclose(self) -> None:
        """End all connections."""
        await self._http.aclose()


async def _discard(reply: Exchange) -> None:
    """Read the rest of an answer, if it is short, so that its connection can be used again."""
    size = 0
    async with aclosing(reply), aclosing(reply.pieces()) as pieces:
        async for piece in pieces:
            size += len(piece)
            if size > _DISCARDED:
                break


class _ProxiedReply:
    """An answer of httpx2."""

    def __init__(self, response: httpx2.Response) -> None:
        self.status: int = response.status_code
        self.headers: Mapping[str, str] = {
            name.lower(): value for name, value in response.headers.items()
        }
        self._response = response

    async def pieces(self) -> AsyncGenerator[bytes]:
        """Return the body as it comes. Raises: HttpError."""
        try:
            async with aclosing(self._response.aiter_bytes()) as pieces:
                async for piece in pieces:
                    yield piece
        except httpx2.HTTPError as error:
            raise HttpError(str(error) or type(error).__name__) from None

    async def aclose(self) -> None:
        """End the exchange."""
        await self._response.aclose()


class Proxied:
    """httpx2 through a proxy."""

    def __init__(self, access: Access, proxy: str, connections: int) -> None:
        self._server: Final = access.server
        self._extensions: Final = {"sni_hostname": access.tls_name} if access.tls_name else None
        self._client: Final = httpx2.AsyncClient(
            verify=access.tls,
            auth=access.auth,
            proxy=proxy,
            trust_env=False,
            timeout=None,
            limits=httpx2.Limits(
                max_connections=connections, max_keepalive_connections=connections
            ),
        )

    async def send(
        self, method: str, target: str, headers: Mapping[str, str], body: bytes | None
    ) -> _ProxiedReply:
        """Return the answer as soon as it begins."""
        try:
            request = self._client.build_request(
                method,
                self._server + target,
                content=body,
                headers=dict(headers),
                extensions=self._extensions,
            )
            return _ProxiedReply(await self._client.send(request, stream=True))
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            unsent = isinstance(error, httpx2.ConnectError | httpx2.ProxyError)
            raise HttpError(str(error) or type(error).__name__, unsent=unsent) from None

    async def aclose(self) -> None:
        """End all connections."""
        await self._client.aclose()
