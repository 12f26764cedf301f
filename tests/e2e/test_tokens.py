"""Tokens that `remuda token` makes, and wrong ones, with a served process (EXT-28, EXT-29)."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import grpc
import httpx2
import pytest

from remuda.client import Client, ClientError, Security
from tests.e2e.serving import FREE_PORTS, Served, run_remuda

RIGHTS = "rm-ids = ['rm']\nread = true\nadmin = true\n"
LOCKED = "Too many wrong tokens came from this address; try again later"


def made() -> tuple[str, str]:
    """A token and its line, as the command prints them."""
    ended = run_remuda("token")
    assert (ended.returncode, ended.stderr) == (0, "")
    token, line = ended.stdout.splitlines()
    return token, line


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


@pytest.fixture
def token_and_file(tmp_path: Path) -> tuple[str, Path]:
    token, line = made()
    path = tmp_path / "access.toml"
    path.write_text(f"[[identity]]\nname = 'a'\n{line}\n{RIGHTS}")
    return token, path


@pytest.fixture
def served(token_and_file: tuple[str, Path]) -> Iterator[Served]:
    path = str(token_and_file[1])
    with Served(*FREE_PORTS, "--grpc-access", path, "--rest-access", path) as running:
        yield running


@pytest.mark.remuda_rule("EXT-28", "REST-1")
def test_a_made_token_opens_both_listeners_and_is_never_logged(
    token_and_file: tuple[str, Path], served: Served
) -> None:
    token, path = token_and_file
    assert token not in path.read_text()
    with Client(served.grpc, "rm", security=Security(token=token)) as client:
        client.register()
        client.add_nodes({"n": {"vcore": 1}})
    answer = served.client.get("/ws/v1/partitions", headers=bearer(token))
    assert answer.status_code == 200
    assert served.client.get("/ws/v1/partitions", headers=bearer(token + "x")).status_code == 401
    assert served.end(15)[0] == 0
    assert served.log == ""


def wrong_until_locked(served: Served) -> dict[str, str]:
    """Show wrong tokens until the lock is long enough for what follows; return the last answer."""
    while True:
        answer = served.client.get("/ws/v1/partitions", headers=bearer("a guess"))
        assert answer.status_code == 401
        if int(answer.headers.get("retry-after", "0")) > 10:
            return dict(answer.json())
        threading.Event().wait(0.1)


@pytest.mark.remuda_rule("EXT-29", "REST-13")
def test_after_wrong_tokens_only_those_are_let_in_that_the_address_showed_before(
    token_and_file: tuple[str, Path], served: Served
) -> None:
    token, _ = token_and_file
    assert served.client.get("/ws/v1/partitions", headers=bearer(token)).status_code == 200
    assert wrong_until_locked(served)["message"] == LOCKED
    assert "guess" not in served.log
    assert served.client.get("/ws/v1/partitions", headers=bearer(token)).status_code == 200
    with httpx2.Client(base_url=f"http://{served.rest}") as anonymous:
        assert "Unknown caller" in anonymous.get("/ws/v1/partitions").json()["message"]
    with (
        Client(served.grpc, "rm", security=Security(token="guess")) as client,
        pytest.raises(ClientError, match=f"UNAUTHENTICATED: {LOCKED}"),
    ):
        client.register()
    with Client(served.grpc, "rm", security=Security(token=token)) as client:
        client.register()
    assert grpc.StatusCode.UNAUTHENTICATED.name not in served.log
