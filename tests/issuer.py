"""An issuer of signed tokens: real keys, real signatures, its keys listed over HTTP on loopback."""

from __future__ import annotations

import json
import threading
import time
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Self

import jwt
from cryptography.hazmat.primitives.asymmetric.ec import (
    SECP256R1,
    EllipticCurvePrivateKey,
)
from cryptography.hazmat.primitives.asymmetric.ec import generate_private_key as generate_ec
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key as generate_rsa
from jwt.algorithms import ECAlgorithm, RSAAlgorithm

ISSUER = "https://login.example.org"
AUDIENCE = "remuda"

PrivateKey = RSAPrivateKey | EllipticCurvePrivateKey


@cache
def rsa_key(number: int = 0) -> RSAPrivateKey:
    """A key of 2,048 bits; the same for the same number."""
    del number
    return generate_rsa(65_537, 2_048)


@cache
def ec_key(number: int = 0) -> EllipticCurvePrivateKey:
    """A key on P-256; the same for the same number."""
    del number
    return generate_ec(SECP256R1())


def listed(name: str, key: PrivateKey, **more: str) -> dict[str, object]:
    """A key as the document lists it."""
    if isinstance(key, RSAPrivateKey):
        entry = RSAAlgorithm.to_jwk(key.public_key(), as_dict=True)
    else:
        entry = ECAlgorithm.to_jwk(key.public_key(), as_dict=True)
    return {**entry, "kid": name, "use": "sig", **more}


def document(**keys: PrivateKey) -> bytes:
    """The list of some keys by their names."""
    return json.dumps({"keys": [listed(name, key) for name, key in keys.items()]}).encode()


def signed(
    key: PrivateKey,
    name: str = "one",
    *,
    header: dict[str, object] | None = None,
    **claims: object,
) -> str:
    """A token; claims that are None are left out."""
    now = int(time.time())
    usual: dict[str, object] = {
        "iss": ISSUER,
        "aud": AUDIENCE,
        "sub": "ann",
        "groups": ["scheduling"],
        "iat": now,
        "exp": now + 600,
    }
    chosen = {name: value for name, value in {**usual, **claims}.items() if value is not None}
    algorithm = "RS256" if isinstance(key, RSAPrivateKey) else "ES256"
    return jwt.encode(chosen, key, algorithm, headers={"kid": name, **(header or {})})


class Listing:
    """Lists keys over HTTP: what is asked, and how. ``asked``: how often it was.

    ``content``: the answer. ``status``: of it. ``silent``: it does not answer while this is set.
    """

    def __init__(self, content: bytes) -> None:
        self.content = content
        self.status = 200
        self.asked = 0
        self.silent = threading.Event()
        self._go_on = threading.Event()
        listing = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                listing.asked += 1
                if listing.silent.is_set():
                    listing._go_on.wait(60)
                    return
                self.send_response(listing.status)
                self.send_header("Content-Length", str(len(listing.content)))
                self.end_headers()
                self.wfile.write(listing.content)

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/keys"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._go_on.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
