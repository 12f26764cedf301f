"""What a client needs to reach a test server, and what the server needs to know its clients."""

from __future__ import annotations

import base64
import os
import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

# The group whose members may do everything, in every version of Kubernetes.
ADMINISTRATORS: Final = "system:masters"
ADMINISTRATOR: Final = "administrator"

# RFC 5915: what stands before an elliptic curve key of 32 bytes, and behind it for secp256r1.
_KEY_HEAD: Final = bytes.fromhex("30310201010420")
_KEY_CURVE: Final = bytes.fromhex("a00a06082a8648ce3d030107")
# The order of that curve's group, from FIPS 186-4, appendix D.1.2.3: keys are below it.
_ORDER: Final = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551


def signing_key() -> str:
    """Return a new elliptic curve key in PEM, with which a server signs account tokens."""
    number = 1 + secrets.randbelow(_ORDER - 1)
    body = base64.b64encode(_KEY_HEAD + number.to_bytes(32) + _KEY_CURVE).decode()
    lines = [body[start : start + 64] for start in range(0, len(body), 64)]
    return "\n".join(["-----BEGIN EC PRIVATE KEY-----", *lines, "-----END EC PRIVATE KEY-----", ""])


def token() -> str:
    """Return a new token that nobody can guess."""
    return secrets.token_urlsafe(24)


def token_file(users: Mapping[str, Sequence[str]], tokens: Mapping[str, str]) -> str:
    """Return the text of a server's token file: token, user, uid and groups of each user."""
    lines = [f'{tokens[name]},{name},{name},"{",".join(users[name])}"' for name in users]
    return "\n".join(lines) + "\n"


def kubeconfig(address: str, *, user_token: str = "", authority: bytes = b"") -> str:
    """Return the text of a kubeconfig; ``authority`` is the PEM that vouches for the server."""
    cluster = f"server: {address}"
    if authority:
        cluster += f"\n    certificate-authority-data: {base64.b64encode(authority).decode()}"
    user = f"{{token: {user_token}}}" if user_token else "{}"
    return f"""\
apiVersion: v1
kind: Config
clusters:
- name: test
  cluster:
    {cluster}
users:
- name: test
  user: {user}
contexts:
- name: test
  context: {{cluster: test, user: test, namespace: default}}
current-context: test
"""


def write_secret(path: Path, text: str) -> Path:
    """Write a file that only its owner may read."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(text)
    return path
