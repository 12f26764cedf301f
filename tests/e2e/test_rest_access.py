"""TLS and tokens of the HTTP API of a served process."""

from __future__ import annotations

import hashlib
import ssl
from pathlib import Path

import httpx2
import pytest

from tests.e2e.serving import FREE_PORTS, Served, run_remuda

FILES = Path(__file__).parent / "tls"
READER, ADMIN = "correct horse", "battery staple"


def identity(name: str, token: str, right: str) -> str:
    digest = hashlib.sha256(token.encode()).hexdigest()
    return f"[[identity]]\nname = '{name}'\ntoken-sha256 = ['{digest}']\n{right} = true\n"


ACCESS = identity("dashboards", READER, "read") + identity("operations", ADMIN, "admin")
TLS = ("--rest-tls-cert", str(FILES / "server.pem"), "--rest-tls-key", str(FILES / "server.key"))


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


@pytest.fixture
def access(tmp_path: Path) -> Path:
    path = tmp_path / "access.toml"
    path.write_text(ACCESS)
    return path


@pytest.mark.remuda_rule("REST-1", "KV-6", "REST-55", "REST-4")
def test_a_token_over_tls_opens_what_its_identity_may_see(access: Path) -> None:
    address = ("--grpc-address", "127.0.0.1:0", "--rest-address", "0.0.0.0:0")
    with Served(*address, *TLS, REMUDA_REST_ACCESS=str(access)) as served:
        base = f"https://localhost:{served.rest.rpartition(':')[2]}"
        trust = ssl.create_default_context(cafile=FILES / "ca.pem")
        with httpx2.Client(base_url=base, verify=trust) as client:
            nobody = client.get("/ws/v1/partitions")
            assert nobody.status_code == 401
            assert nobody.headers["www-authenticate"] == 'Bearer realm="remuda"'
            assert nobody.json()["status_code"] == 401
            known = client.get("/ws/v1/partitions", headers=bearer(READER))
            assert (known.status_code, known.text) == (200, "[]\n")
            assert "access-control-allow-origin" not in known.headers
            assert client.get("/ws/v1/stack", headers=bearer(READER)).status_code == 403
            assert "MainThread" in client.get("/ws/v1/stack", headers=bearer(ADMIN)).text
            assert client.get("/ws/v1/docs").status_code == 200
        with pytest.raises(httpx2.HTTPError):
            httpx2.get(f"http://{served.rest}/ws/v1/partitions")
        # Protected, so there is nothing to warn of; and no token got into the log.
        assert served.end(15)[0] == 0
        assert served.log == ""


@pytest.mark.remuda_rule("REST-55", "KV-6")
def test_debug_can_be_switched_off() -> None:
    with Served(*FREE_PORTS, REMUDA_DEBUG="0") as served:
        for path in ("/ws/v1/stack", "/debug/stack", "/debug/pprof/", "/debug/pprof/heap"):
            answer = served.client.get(path)
            assert (answer.status_code, answer.text) == (404, "404 page not found\n")
        assert served.client.get("/ws/v1/partitions").status_code == 200


@pytest.mark.remuda_rule("REST-1")
def test_the_world_without_protection_is_warned_of() -> None:
    with Served("--grpc-address", "127.0.0.1:0", "--rest-address", "0.0.0.0:0") as served:
        assert served.end(15)[0] == 0
        (line,) = served.log.splitlines()
    assert "REST listens on 0.0.0.0:0: whoever reaches it sees users, applications" in line


@pytest.mark.remuda_rule("KV-6")
@pytest.mark.parametrize(
    "options, words",
    [
        (("--rest-tls-cert", "none.pem", "--rest-tls-key", "none.key"), "cannot read none.pem"),
        (("--rest-access", "none.toml"), "cannot read none.toml"),
        (("--rest-tls-cert", "none.pem"), "--rest-tls-key belong together; one is missing"),
    ],
)
def test_files_that_cannot_be_used_are_one_line_and_code_2(
    options: tuple[str, ...], words: str
) -> None:
    ended = run_remuda("serve", *FREE_PORTS, *options)
    assert (ended.returncode, ended.stdout) == (2, "")
    (line,) = ended.stderr.splitlines()
    assert words in line
