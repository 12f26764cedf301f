"""The file of identities changes while a served process has open calls (EXT-27)."""

from __future__ import annotations

import hashlib
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import grpc
import httpx2
import pytest

from remuda.client import Admin, Client, ClientError, Security
from remuda.si.pb import extension_pb2 as ext
from tests.e2e.open_calls import Calls, bearer, metadata
from tests.e2e.serving import FREE_PORTS, Served
from tests.e2e.session_stream import SessionStream
from tests.waiting import wait

ONE, OTHER = "correct horse", "battery staple"


def identity(name: str, rights: str, *tokens: str) -> str:
    digests = [hashlib.sha256(token.encode()).hexdigest() for token in tokens]
    return f"[[identity]]\nname = '{name}'\ntoken-sha256 = {digests}\n{rights}\n"


RIGHTS = "rm-ids = ['one', 'session']\nread = true"
FIRST = identity("one", RIGHTS, ONE)
SECOND = identity("other", "rm-ids = ['other']\nadmin = true", OTHER)


@pytest.fixture
def access(tmp_path: Path) -> Path:
    path = tmp_path / "access.toml"
    path.write_text(FIRST + SECOND)
    return path


@pytest.fixture
def served(access: Path) -> Iterator[Served]:
    options = ("--grpc-access", str(access), "--rest-access", str(access))
    with Served(*FREE_PORTS, *options) as running:
        yield running


def status(served: Served, token: str) -> int:
    """The status of an answer, 0 if the connection was ended before."""
    try:
        return served.client.get("/ws/v1/partitions", headers=bearer(token)).status_code
    except httpx2.RemoteProtocolError:
        return 0


def known(served: Served, token: str, rm_id: str) -> bool:
    try:
        with Client(served.grpc, rm_id, security=Security(token=token)) as client:
            client.register()
    except ClientError as error:
        return not str(error).startswith(("UNAUTHENTICATED", "PERMISSION_DENIED"))
    return True


@pytest.mark.remuda_rule("EXT-27")
@pytest.mark.parametrize(
    "replacement",
    [SECOND, identity("one", "read = true", ONE) + SECOND],
    ids=["an identity that is gone", "an identity with other rights"],
)
def test_the_open_calls_of_such_a_caller_end_and_those_of_others_go_on(
    served: Served, access: Path, replacement: str
) -> None:
    with grpc.insecure_channel(served.grpc) as channel:
        one = Calls(served, channel, ONE, "one")
        other = Calls(served, channel, OTHER, "other")
        session = SessionStream(channel, metadata=metadata(ONE))
        session.register("session")
        access.write_text(replacement)
        wait(lambda: all(each.over() for each in one.reads))
        assert [each.end for each in one.reads[:2]] == [grpc.StatusCode.UNAUTHENTICATED] * 2
        assert one.reads[2].end is httpx2.RemoteProtocolError
        assert session.status()[0] is grpc.StatusCode.UNAUTHENTICATED
        assert not any(each.over() for each in other.reads)
        with Admin(served.grpc, security=Security(token=OTHER)) as admin:
            away = {each.rm_id: each.state for each in admin.resource_managers()}
        assert away["one"] == away["session"] == ext.ResourceManagerInfo.PAUSED
        assert away["other"] == ext.ResourceManagerInfo.RUNNING
        one.close()
        other.close()
    assert not known(served, ONE, "one")


@pytest.mark.remuda_rule("EXT-27", "REST-1")
def test_a_new_token_counts_at_once_and_the_old_one_until_it_is_taken_away(
    served: Served, access: Path
) -> None:
    new = "another token"
    with grpc.insecure_channel(served.grpc) as channel:
        one = Calls(served, channel, ONE, "one")
        assert status(served, new) == 401
        access.write_text(identity("one", RIGHTS, ONE, new) + SECOND)
        wait(lambda: status(served, new) == 200)
        assert status(served, ONE) == 200
        assert not any(each.over() for each in one.reads)
        access.write_text(identity("one", RIGHTS, new) + SECOND)
        wait(lambda: all(each.over() for each in one.reads))
        assert status(served, ONE) == 401
        assert known(served, new, "one")
        one.close()


@pytest.mark.remuda_rule("EXT-27")
def test_a_file_with_a_fault_changes_nothing_and_is_told(served: Served, access: Path) -> None:
    with grpc.insecure_channel(served.grpc) as channel:
        one = Calls(served, channel, ONE, "one")
        for text in ("", "[[identity]\n", FIRST + FIRST, SECOND + "[[identity]]\nname = 'x'\n"):
            before = served.log.count("the identities in force stay")
            access.write_text(text)
            served.process.send_signal(signal.SIGHUP)
            wait(lambda: served.log.count("the identities in force stay") >= before + 2)  # noqa: B023
        assert known(served, OTHER, "other")
        assert status(served, ONE) == 200
        assert not any(each.over() for each in one.reads)
        one.close()
    assert ONE not in served.log


@pytest.mark.remuda_rule("EXT-27")
def test_an_empty_list_of_identities_shuts_everybody_out(served: Served, access: Path) -> None:
    access.write_text("identity = []\n")
    wait(lambda: status(served, ONE) == 401)
    wait(lambda: not known(served, OTHER, "other"))
    checks: list[Callable[[], int]] = [
        lambda: served.client.get("/ws/v1/partitions").status_code,
        lambda: status(served, OTHER),
    ]
    assert [check() for check in checks] == [401, 401]
