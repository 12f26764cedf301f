"""How commands call the HTTP API of a scheduler, and what they say if that fails."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from remuda.base.errors import RemudaError, UsageError
from remuda.cli.program import run
from remuda.cli.server import (
    NotNowError,
    NotReachableError,
    WrongRequestError,
    path_of,
    server_at,
)
from remuda.cli.viewing.reading import answer

ADVICE = "; name a file with a token by --token-file or REMUDA_TOKEN_FILE"
NO_FILE = Path("/nowhere/at-all")


@contextmanager
def answering(status: int, content: bytes, **headers: str) -> Iterator[tuple[str, list[Any]]]:
    """Serve one answer to every request; the list has what was asked."""
    asked: list[Any] = []
    names = {name.replace("_", "-"): value for name, value in headers.items()}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            asked.append((self.command, self.path, dict(self.headers), body))
            self.send_response(status)
            fields = {"Content-Type": "application/json", **names}
            for name, value in {**fields, "Content-Length": str(len(content))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            """Keep quiet."""

    Handler.do_POST = Handler.do_GET  # type: ignore[attr-defined]

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"127.0.0.1:{server.server_port}", asked
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_a_question_has_its_path_options_and_token(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("secret\ntoken-hash = [...]\n")
    with answering(200, b"{}") as (address, asked):
        server = server_at(address, token, None)
        path = path_of("partition", "a/b", "dry run")
        assert server.get(path, {"rm": "x y"}) == b"{}"
        assert server.post(path, b"[1]") == b"{}"
    first, second = asked
    assert first[:2] == ("GET", "/ws/v1/partition/a%2Fb/dry%20run?rm=x+y")
    assert first[2]["Authorization"] == "Bearer secret"
    assert (second[0], second[3]) == ("POST", b"[1]")


@pytest.mark.parametrize(
    "status, headers, kind, text",
    [
        (404, {}, WrongRequestError, "no such thing"),
        (400, {}, WrongRequestError, "no such thing"),
        (503, {"Retry_After": "5"}, NotNowError, "{address}: no such thing (in 5 s)"),
        (
            401,
            {},
            NotNowError,
            "{address}: no such thing" + ADVICE,
        ),
    ],
)
def test_a_refusal_is_one_line(
    status: int, headers: dict[str, str], kind: type[RemudaError], text: str
) -> None:
    content = json.dumps({"status_code": status, "message": "no such\nthing"}).encode()
    with answering(status, content, **headers) as (address, _), pytest.raises(kind) as found:
        server_at(address, None, None).get("/")
    assert str(found.value) == text.format(address=f"http://{address}")


@pytest.mark.parametrize(
    "status, content, type_",
    [(200, b"<html>", "text/html"), (404, b"404 page not found", "text/plain"), (500, b"[]", "")],
)
def test_another_server_is_no_scheduler(status: int, content: bytes, type_: str) -> None:
    wrong = pytest.raises(NotReachableError)
    with answering(status, content, Content_Type=type_) as (address, _), wrong:
        server_at(address, None, None).get("/")


def test_an_address_where_nobody_listens_is_not_reachable() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
        with pytest.raises(NotReachableError, match=f"nobody answers at http://{address}: "):
            server_at(address, None, None).get("/")


def test_clear_text_where_tls_is_expected_is_not_reachable() -> None:
    unsafe = pytest.raises(NotReachableError, match="no safe connection")
    with answering(200, b"{}") as (address, _), unsafe:
        server_at(f"https://{address}", None, None).get("/")


@pytest.mark.parametrize(
    "address",
    [
        *("", "http://", "ftp://h:1", "h:x", "h:99999", "http://h/ws", "http://u@h:1", "[::1"),
        *("http://a b:1", "a\x1b[31mb", "http://..", "a" * 64, "\udcff"),
    ],
)
def test_a_wrong_address_is_refused(address: str) -> None:
    with pytest.raises(UsageError, match="--server: "):
        server_at(address, None, None)


def test_what_is_no_text_is_refused_and_not_taken_for_a_bad_answer() -> None:
    with pytest.raises(UsageError, match=r"'a\\udcff' is no text in UTF-8"):
        path_of("partition", "a\udcff")
    with pytest.raises(UsageError, match="a name is empty"):
        path_of("partition", "")
    with pytest.raises(UsageError, match="is no text in UTF-8"):
        answer(server_at("h:1", None, None), "/", {"rm": "\udcff"})


@pytest.mark.parametrize(
    "length", [b"Content-Length: 9\r\n\r\n", b"Transfer-Encoding: chunked\r\n\r\n9\r\n"]
)
def test_an_answer_that_breaks_off_is_told_and_not_used(length: bytes) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.recv(65_536)
                connection.sendall(
                    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n" + length + b"[]"
                )

        thread = threading.Thread(target=serve)
        thread.start()
        address = f"127.0.0.1:{listener.getsockname()[1]}"
        with pytest.raises(NotReachableError, match="in the middle of an answer"):
            server_at(address, None, None).get("/")
        thread.join()


@pytest.mark.remuda_rule("EXT-76")
def test_an_error_moves_no_cursor(capsys: pytest.CaptureFixture[str]) -> None:
    refused = b'{"status_code": 400, "message": "queue \\u001b[2J is wrong"}'
    with answering(400, refused) as (address, _):
        assert run(["config", "get", "--server", address]) == 2
    assert capsys.readouterr().err == "remuda: queue \\x1b[2J is wrong\n"


def test_files_that_are_missing_or_empty_are_refused(tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.write_text("\n")
    with pytest.raises(UsageError, match=f"--token-file {NO_FILE}: No such file"):
        server_at("h:1", NO_FILE, None)
    with pytest.raises(UsageError, match="there is no token in it"):
        server_at("h:1", empty, None)
    with pytest.raises(UsageError, match=f"--server-ca {NO_FILE}: No such file"):
        server_at("https://h:1", None, NO_FILE)
    with pytest.raises(UsageError, match="write the address as https"):
        server_at("h:1", None, empty)
