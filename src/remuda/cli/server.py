"""The HTTP API of a running scheduler, as commands call it: address, token, errors in one line.

It uses the standard library only, so that a command works without the packages of the service. It
takes no proxy and follows no redirect, so a token reaches the named server and nobody else.
"""

from __future__ import annotations

import http.client
import json
import socket
import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, ClassVar, Final, Protocol, TypeAlias, final
from urllib.parse import quote, urlencode, urlsplit

import typer

from remuda.base.errors import RemudaError, UsageError

DEFAULT_SERVER: Final = "http://127.0.0.1:9080"

# Seconds for an answer: longer than the server takes for its slowest ones.
_SECONDS: Final = 60.0

# Bytes of an answer, and of a file with a token.
_ANSWER_LIMIT: Final = 64 * 1024 * 1024
_TOKEN_LIMIT: Final = 64 * 1024

# Bytes of a line of an answer without an end.
_LINE_LIMIT: Final = 1024 * 1024

# Statuses that mean that the request itself is wrong.
_WRONG_REQUEST: Final = (400, 404, 405, 413, 422)

# Statuses that mean that the caller may not, or that something else was changed first.
_REFUSED: Final = (401, 403, 409, 412)

_JSON: Final = "application/json"

_BROKEN_OFF: Final = "{} has ended the connection in the middle of an answer"

# The port of an address without one.
_PORTS: Final = {"http": 80, "https": 443}


def _contexts(incomplete: str) -> list[str]:
    """Return the contexts that a shell offers."""
    from remuda.cli.known_servers import names_that_begin  # noqa: PLC0415 - most calls do not ask

    return names_that_begin(incomplete)


ServerOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS",
        envvar="REMUDA_SERVER",
        help="HTTP API of the scheduler: HOST:PORT, http://HOST:PORT or https://HOST:PORT."
        f" Default: that of the context, else {DEFAULT_SERVER}.",
    ),
]
ContextOption: TypeAlias = Annotated[
    str,
    typer.Option(
        "--context",
        metavar="NAME",
        envvar="REMUDA_CONTEXT",
        help="Context to use; see 'remuda context'. Default: the current one.",
        autocompletion=_contexts,
    ),
]
TokenOption: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        envvar="REMUDA_TOKEN_FILE",
        help="File with the token of an identity that may read; - reads stdin.",
    ),
]
AuthorityOption: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        envvar="REMUDA_SERVER_CA",
        help="Authorities, in PEM, of the server's certificate. Default: those of the system.",
    ),
]


class NotReachableError(RemudaError):
    """No scheduler answers at the address, or what answers is none."""


def odd_answer(what: str) -> NotReachableError:
    """Return the error for an answer that no scheduler of this version gives. Rules: EXT-114."""
    return NotReachableError(f"{what}; is it a remuda of this version?")


class AnswerTooLargeError(NotReachableError):
    """The answer has more bytes than a command takes."""


class NoRouteError(NotReachableError):
    """The server knows no such path at all."""


class NotNowError(RemudaError):
    """The server has no room for the question now, or refuses who asks; one line says why."""


class RefusedError(NotNowError):
    """The server refuses who asks, or what was to be changed was changed meanwhile."""

    exit_code: ClassVar[int] = 4


class WrongRequestError(UsageError):
    """The server says that the request is wrong, or that it is about something unknown.

    ``status``: that of its answer, as HTTP has it.
    """

    def __init__(self, text: str, status: int = 400) -> None:
        super().__init__(text)
        self.status = status


class Server(Protocol):
    """Where a command gets answers from."""

    def get(self, path: str, options: Mapping[str, str] | None = None) -> bytes:
        """Return the answer to a GET. Raises: NotReachableError, NotNowError, WrongRequestError."""
        ...

    def post(self, path: str, content: bytes, options: Mapping[str, str] | None = None) -> bytes:
        """Return the answer to a POST of JSON. Raises: as ``get``."""
        ...

    def lines(self, path: str, options: Mapping[str, str] | None = None) -> Iterator[bytes]:
        """Yield the lines of an answer that may never end. Raises: as ``get``."""
        ...


@final
class HttpServer:
    """A running scheduler.

    Args:
        address: as it was written, for messages.
        host, port: of its HTTP API.
        tls: None for clear text.
        token: of the caller, "" for none.
    """

    def __init__(
        self, address: str, host: str, port: int, tls: ssl.SSLContext | None, token: str
    ) -> None:
        self.address = address
        self._host, self._port = host, port
        self._tls = tls
        self._token = token

    def get(
        self, path: str, options: Mapping[str, str] | None = None, media_type: str = _JSON
    ) -> bytes:
        """Return the answer to a GET, in JSON unless another type is named.

        Raises: NotReachableError, NotNowError, WrongRequestError.
        """
        return self._call("GET", path, options, None, media_type)

    def post(self, path: str, content: bytes, options: Mapping[str, str] | None = None) -> bytes:
        """Return the answer to a POST of JSON. Raises: as ``get``."""
        return self._call("POST", path, options, content)

    def lines(self, path: str, options: Mapping[str, str] | None = None) -> Iterator[bytes]:
        """Yield the lines of an answer that may never end; silence does not end it.

        Raises: as ``get``, and NotReachableError when the connection ends.
        """
        connection = self._connection()
        try:
            with self._explained():
                answer = self._sent(connection, "GET", path, options, None)
                if answer.status != http.client.OK:
                    raise self._refusal(answer, answer.read(_LINE_LIMIT))
                if connection.sock is not None:
                    connection.sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
                    connection.sock.settimeout(None)
                while line := answer.readline(_LINE_LIMIT):
                    yield line
            raise NotReachableError(f"{self.address} has ended the connection")
        finally:
            connection.close()

    def _call(
        self,
        method: str,
        path: str,
        options: Mapping[str, str] | None,
        content: bytes | None,
        media_type: str = _JSON,
    ) -> bytes:
        connection = self._connection()
        try:
            with self._explained():
                answer = self._sent(connection, method, path, options, content, media_type)
                found = answer.read(_ANSWER_LIMIT + 1)
        finally:
            connection.close()
        if len(found) > _ANSWER_LIMIT:
            raise AnswerTooLargeError(f"{self.address}: the answer has more than 64 MiB")
        if answer.length:  # what is missing; the library only says so of answers in chunks
            raise NotReachableError(_BROKEN_OFF.format(self.address))
        if answer.status != http.client.OK:
            raise self._refusal(answer, found)
        if answer.headers.get_content_type() != media_type:
            raise NotReachableError(f"{self.address} is no HTTP API of a scheduler")
        return found

    def _sent(
        self,
        connection: http.client.HTTPConnection,
        method: str,
        path: str,
        options: Mapping[str, str] | None,
        content: bytes | None,
        media_type: str = _JSON,
    ) -> http.client.HTTPResponse:
        """Send a request and return the answer, whose content is not read yet."""
        with _as_text():
            target = f"{path}?{urlencode(options)}" if options else path
        headers = {"Accept": media_type}
        if content is not None:
            headers["Content-Type"] = _JSON
        if self._token:
            headers["Authorization"] = f"Bearer {self._token}"
        connection.request(method, target, content, headers)
        return connection.getresponse()

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Turn what can go wrong with a connection into one line."""
        try:
            yield
        except TimeoutError:
            raise NotReachableError(f"{self.address}: no answer within {_SECONDS:g} s") from None
        except ssl.SSLError as error:
            why = getattr(error, "verify_message", "") or error.reason or str(error)
            raise NotReachableError(f"{self.address}: no safe connection: {why}") from None
        except OSError as error:
            why = error.strerror or str(error)
            raise NotReachableError(f"nobody answers at {self.address}: {why}") from None
        except http.client.IncompleteRead:
            raise NotReachableError(_BROKEN_OFF.format(self.address)) from None
        except http.client.HTTPException as error:
            raise NotReachableError(
                f"{self.address} does not speak HTTP ({type(error).__name__}); is it the address of"
                " the HTTP API, with https:// if it has a certificate?"
            ) from None

    def _connection(self) -> http.client.HTTPConnection:
        if self._tls is None:
            return http.client.HTTPConnection(self._host, self._port, timeout=_SECONDS)
        return http.client.HTTPSConnection(
            self._host, self._port, timeout=_SECONDS, context=self._tls
        )

    def _refusal(self, answer: http.client.HTTPResponse, content: bytes) -> RemudaError:
        """Return the error for an answer that is a refusal."""
        said = _message(content)
        if not said:
            kind = NoRouteError if answer.status == http.client.NOT_FOUND else NotReachableError
            return kind(
                f"{self.address} answers with status {answer.status}; is it a scheduler of this"
                " version?"
            )
        if answer.status in _WRONG_REQUEST:
            return WrongRequestError(said, answer.status)
        later = answer.headers.get("Retry-After", "")
        hint = f" (in {later} s)" if later.isdecimal() else ""
        if answer.status == http.client.UNAUTHORIZED:
            hint += "; name a file with a token by --token-file or REMUDA_TOKEN_FILE"
        refused = RefusedError if answer.status in _REFUSED else NotNowError
        return refused(f"{self.address}: {said}{hint}")


def server_at(
    address: str | None, token: Path | None, authorities: Path | None, context: str = ""
) -> HttpServer:
    """Return the scheduler that the options name; it is not called yet.

    Without an address it is that of the context, whose token and authorities count then before
    those of the options. A context's token is sent to the context's server only. Rules: EXT-75.

    Raises: UsageError.
    """
    if address is not None:
        if context:
            raise UsageError("--server and --context exclude each other, and so do their variables")
        return _server_at(address, token, authorities)
    from remuda.cli import known_servers  # noqa: PLC0415 - most calls name a server

    known = known_servers.known_server(context)
    if known is None:
        return _server_at(DEFAULT_SERVER, token, authorities)
    if known.token_file is not None:
        known_servers.check_private(known.token_file)
    return _server_at(known.server, known.token_file or token, known.server_ca or authorities)


def _server_at(address: str, token: Path | None, authorities: Path | None) -> HttpServer:
    text = address if "://" in address else f"http://{address}"
    scheme, host, port = _parts(text)
    if not host:
        raise UsageError(
            f"--server: '{address}' is not HOST:PORT, http://HOST:PORT or https://HOST:PORT"
        )
    secure = scheme == "https"
    if authorities is not None and not secure:
        raise UsageError("--server-ca is for TLS: write the address as https://HOST:PORT")
    tls = _tls(authorities) if secure else None
    return HttpServer(text.rstrip("/"), host, port, tls, "" if token is None else read_token(token))


def path_of(*parts: str) -> str:
    """Return the path of the HTTP API with these parts, each of which may have any character.

    Raises: UsageError if a part is empty or no Unicode text.
    """
    if not all(parts):
        raise UsageError("a name is empty; write the name of an object of the scheduler")
    with _as_text():
        return "/ws/v1/" + "/".join(quote(part, safe="") for part in parts)


@contextmanager
def _as_text() -> Iterator[None]:
    """Refuse what a shell took from bytes that are not UTF-8; no name of a scheduler has that."""
    try:
        yield
    except UnicodeEncodeError as error:
        text = f"{error.object!r:.80}"
        raise UsageError(f"{text} is no text in UTF-8; write names as the scheduler does") from None


def _parts(text: str) -> tuple[str, str, int]:
    """Return scheme, host and port of an address, or no host if it is none of a server."""
    try:
        parts = urlsplit(text)
        host, port = parts.hostname or "", parts.port
        host.encode("idna")
    except ValueError:
        return "", "", 0
    if not host.isprintable() or " " in host:
        return "", "", 0
    more = parts.path.strip("/") or parts.query or parts.fragment or parts.username
    if parts.scheme not in _PORTS or more:
        return "", "", 0
    return parts.scheme, host, port or _PORTS[parts.scheme]


def _tls(authorities: Path | None) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=authorities)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "it has no certificates in PEM"
        raise UsageError(f"--server-ca {authorities}: {why}") from None


def read_token(path: Path) -> str:
    """Return the first word of a file, of stdin for ``-``. Raises: UsageError."""
    try:
        if str(path) == "-":
            words = typer.get_text_stream("stdin").read(_TOKEN_LIMIT).split()
        else:
            with path.open(encoding="ascii") as file:
                words = file.read(_TOKEN_LIMIT).split()
    except OSError as error:
        raise UsageError(f"--token-file {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        words = []
    if not words or not (words[0].isascii() and words[0].isprintable()):
        raise UsageError(f"--token-file {path}: there is no token in it")
    return words[0]


def _message(content: bytes) -> str:
    """Return what a refusal says, in one line; "" if it is none of the HTTP API."""
    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        return ""
    text = found.get("message") if isinstance(found, dict) else None
    return " ".join(text.split()) if isinstance(text, str) else ""
