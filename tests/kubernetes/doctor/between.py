"""A server between the doctor and the fake API server: it passes on what is not to be wrong.

What it answers by itself is in ``wrong``: a path, and the function that writes the whole answer.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BufferedIOBase
from pathlib import Path
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit

from remuda_kubernetes.doctor.run import Options, examine
from tests.kubernetes.end_to_end import sound
from tests.kubernetes.end_to_end.servers import FakeServer

# Writes an answer; gets what was asked behind the path.
Wrong = Callable[[BufferedIOBase, Mapping[str, str]], None]


class _Listening(ThreadingHTTPServer):
    """Takes many connections at once; one that is refused would be tried again a second later."""

    request_queue_size = 128


class Between:
    """The server; its ``asked`` are the requests that came, as METHOD PATH."""

    def __init__(self, inner: FakeServer, folder: Path) -> None:
        self.wrong: dict[str, Wrong] = {}
        self.asked: list[str] = []
        self._inner = urlsplit(inner.address).netloc
        between = self

        class Handler(BaseHTTPRequestHandler):
            """One request for each connection."""

            def do_GET(self) -> None:
                between._answer(self)

            do_POST = do_GET  # noqa: N815 - as the library calls it

            def log_message(self, *_: object) -> None: ...

        self._http = _Listening(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._http.serve_forever, daemon=True)
        self.address = f"http://127.0.0.1:{self._http.server_port}"
        self.kubeconfig = folder / "between"
        text = inner.kubeconfig.read_text().replace(inner.address, self.address)
        self.kubeconfig.write_text(text)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._http.shutdown()
        self._http.server_close()

    def told(self, **options: Any) -> list[dict[str, Any]]:
        """All findings of a look at the cluster."""
        found: list[dict[str, Any]] = json.loads(self.text(json=True, **options))["findings"]
        return found

    def text(self, **options: Any) -> str:
        """What the doctor prints."""
        return examine(Options(kubeconfig=self.kubeconfig, namespace=sound.SPACE, **options))[0]

    def _answer(self, asked: BaseHTTPRequestHandler) -> None:
        parts = urlsplit(asked.path)
        self.asked.append(f"{asked.command} {parts.path}")
        body = asked.rfile.read(int(asked.headers.get("content-length") or 0))
        asked.close_connection = True
        if parts.path in self.wrong:
            query = {name: values[0] for name, values in parse_qs(parts.query).items()}
            self.wrong[parts.path](asked.wfile, query)
            return
        inner = HTTPConnection(self._inner)
        inner.request(asked.command, asked.path, body or None, dict(asked.headers))
        found = inner.getresponse()
        write(asked.wfile, found.read(), found.status)
        inner.close()


def write(out: BufferedIOBase, body: bytes, status: int = 200, *headers: str) -> None:
    """Write a whole answer."""
    lines = (f"HTTP/1.1 {status} x", *headers, f"content-length: {len(body)}", "connection: close")
    out.write("".join(f"{each}\r\n" for each in lines).encode("latin-1") + b"\r\n" + body)


def always(body: bytes, status: int = 200, *headers: str) -> Wrong:
    """Answer this, whatever is asked."""
    return lambda out, _: write(out, body, status, *headers)
