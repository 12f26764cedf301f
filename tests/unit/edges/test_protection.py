"""What keeps strangers out, and the warning when nothing does."""

from __future__ import annotations

from pathlib import Path

import pytest

from remuda.edges.certificates import TlsFiles
from remuda.edges.protection import Files, read_protection

FILES = Path(__file__).parents[2] / "e2e" / "tls"
EVERYTHING = "gRPC listens on {}: whoever reaches it may do everything; see SECURITY.md"
SEEN = "REST listens on {}: whoever reaches it sees users, applications and configurations; see"
CLEAR = "{} listens on {}: tokens travel in clear text; see SECURITY.md"
ACCESS = f"[[identity]]\nname = 'a'\ntoken-sha256 = ['{'00' * 32}']\nadmin = true\n"
HERE = ("127.0.0.1", 1)


@pytest.fixture
def access(tmp_path: Path) -> Path:
    path = tmp_path / "access.toml"
    path.write_text(ACCESS)
    return path


def tls(*, client_ca: bool = False) -> TlsFiles:
    ca = FILES / "ca.pem" if client_ca else None
    return TlsFiles(FILES / "server.pem", FILES / "server.key", ca)


@pytest.mark.remuda_rule("EXT-23", "REST-1", "KV-6")
@pytest.mark.parametrize("host", ["0.0.0.0", "::", "scheduler.example.org"])
def test_listening_to_strangers_without_protection_is_warned_of(
    host: str, access: Path, caplog: pytest.LogCaptureFixture
) -> None:
    shown = f"[{host}]:9" if ":" in host else f"{host}:9"

    def warned(grpc: Files, rest: Files) -> list[str]:
        caplog.clear()
        read_protection(grpc, rest).warn((host, 9), (host, 9))
        return [record.getMessage() for record in caplog.records]

    first, second = warned(Files(), Files())
    assert first == EVERYTHING.format(shown)
    assert second.startswith(SEEN.format(shown))
    assert warned(Files(access=access), Files(access=access)) == [
        CLEAR.format("gRPC", shown),
        CLEAR.format("REST", shown),
    ]
    first, second = warned(Files(tls=tls()), Files(tls=tls()))
    assert first == EVERYTHING.format(shown)
    assert second.startswith(SEEN.format(shown))
    assert warned(Files(tls(client_ca=True)), Files(tls(), access)) == []
    assert warned(Files(tls(), access), Files(tls(), access)) == []


@pytest.mark.remuda_rule("EXT-23", "REST-1")
@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.9", "::1", "localhost"])
def test_listening_on_loopback_needs_no_warning(
    host: str, caplog: pytest.LogCaptureFixture
) -> None:
    read_protection(Files(), Files()).warn((host, 9), (host, 9))
    assert caplog.records == []
