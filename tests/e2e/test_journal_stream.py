"""``remuda.v1.Journal``: who may follow a journal, what comes, and how a client goes on."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc
import pytest

from remuda.client import ClientError
from remuda.client import Security as ClientSecurity
from remuda.connection.channel import NotAnsweredError
from remuda.connection.journal import JournalStream, NoJournalError
from remuda.edges.grpc.security import read_security
from remuda.edges.grpc.settings import GrpcSettings
from remuda.runtime.journals.feed import Piece
from remuda.runtime.journals.past import Until
from remuda.runtime.journals.repeating import NO_STATE
from remuda.si.pb import extension_pb2 as ext
from remuda.si.pb.extension_pb2_grpc import (
    JournalServicer,
    JournalStub,
    add_JournalServicer_to_server,
)
from remuda.telemetry.audit.records import Record
from tests.e2e.grpc_service import SECONDS, Service
from tests.e2e.test_grpc_security import ADMIN_TOKEN, BY_TOKEN, FOR_CLIENT, TOKEN, tls
from tests.unit.runtime.journals.written import journal_of
from tests.waiting import wait

OLDEST = Until(0)
NOBODY = ClientSecurity()


def silent(_text: str) -> None:
    """Tell nobody."""


def received(stream: JournalStream) -> list[Piece]:
    """All pieces up to the word that nothing more is there."""
    found: list[Piece] = []
    deadline = time.monotonic() + SECONDS
    while not found or found[-1].name:
        assert time.monotonic() < deadline, "the scheduler sends nothing more"
        piece = stream.next(1)
        if piece is not None:
            found.append(piece)
    return found[:-1]


def refusal(service: Service, request: ext.FollowJournalRequest | None = None) -> tuple[str, str]:
    """How a call ends that is refused."""
    call = JournalStub(service.channel).Follow(
        request or ext.FollowJournalRequest(), timeout=SECONDS
    )
    with pytest.raises(grpc.RpcError) as caught:
        list(call)
    return caught.value.code().name, caught.value.details() or ""


@pytest.mark.remuda_rule("EXT-163")
def test_the_bytes_of_all_files_from_a_moment_on_arrive(tmp_path: Path) -> None:
    files = journal_of(tmp_path)
    with (
        Service(journal=tmp_path) as service,
        JournalStream(service.address, NOBODY, OLDEST, silent) as stream,
    ):
        found = received(stream)
    text = {each.name: b"" for each in found}
    for each in found:
        assert each.offset == len(text[each.name])
        text[each.name] += each.content
    assert text == {each.inputs.name: each.inputs.read_bytes() for each in files}
    assert [each.begins for each in found] == [True] + [False] * (len(found) - 1)


@pytest.mark.remuda_rule("EXT-163")
def test_without_a_moment_the_latest_state_comes_first(tmp_path: Path) -> None:
    last = journal_of(tmp_path)[-1]
    assert last.state is not None
    with (
        Service(journal=tmp_path) as service,
        JournalStream(service.address, NOBODY, None, silent) as stream,
    ):
        found = received(stream)
    assert [each.name for each in found] == [last.state.name, last.inputs.name]
    assert [each.content for each in found] == [
        last.state.read_bytes(),
        last.inputs.read_bytes(),
    ]


@pytest.mark.remuda_rule("EXT-163")
def test_a_scheduler_without_a_journal_says_what_to_set() -> None:
    with Service() as service:
        code, text = refusal(service)
        assert (code, text) == (
            "FAILED_PRECONDITION",
            "this scheduler keeps no journal; start it with --journal DIR",
        )
        with (
            JournalStream(service.address, NOBODY, None, silent) as stream,
            pytest.raises(NoJournalError, match=f"{service.address}: this scheduler keeps no"),
        ):
            received(stream)


@pytest.mark.remuda_rule("EXT-163")
def test_one_follower_too_many_is_refused_and_one_that_ends_makes_room(tmp_path: Path) -> None:
    journal_of(tmp_path)
    settings = GrpcSettings(journal_followers_limit=2)
    with Service(settings, journal=tmp_path) as service:
        with (
            JournalStream(service.address, NOBODY, None, silent) as first,
            JournalStream(service.address, NOBODY, None, silent) as second,
        ):
            assert received(first) == received(second)
            assert refusal(service) == (
                "RESOURCE_EXHAUSTED",
                "2 follow the journal, which is the limit; end one of them first",
            )
        assert wait_for_room(service)


def wait_for_room(service: Service) -> bool:
    """Wait until somebody may follow again; the end of a call takes a moment to arrive."""

    def room() -> bool:
        try:
            with JournalStream(service.address, NOBODY, None, silent) as stream:
                return bool(received(stream))
        except ClientError:
            return False

    wait(room)
    return True


@pytest.mark.remuda_rule("EXT-163")
def test_nobody_may_follow_if_the_limit_is_none(tmp_path: Path) -> None:
    journal_of(tmp_path)
    with Service(GrpcSettings(journal_followers_limit=0), journal=tmp_path) as service:
        assert refusal(service) == (
            "FAILED_PRECONDITION",
            "nobody may follow the journal; --journal-followers is 0",
        )


@pytest.mark.remuda_rule("EXT-23")
@pytest.mark.remuda_rule("EXT-163")
def test_only_an_administrator_may_follow_and_the_audit_log_has_it(tmp_path: Path) -> None:
    journal_of(tmp_path)
    access = tmp_path / "access.toml"
    access.write_text(BY_TOKEN)
    records: list[Record] = []
    with Service(
        security=read_security(None, access),
        journal=tmp_path,
        audit=records.append,
    ) as service:
        for security, text in (
            (ClientSecurity(token=TOKEN), "PERMISSION_DENIED: 'cluster a' is no administrator"),
            (NOBODY, "UNAUTHENTICATED: nobody known calls"),
        ):
            with (
                JournalStream(service.address, security, None, silent) as stream,
                pytest.raises(ClientError, match=text),
            ):
                received(stream)
        security = ClientSecurity(token=ADMIN_TOKEN)
        with JournalStream(service.address, security, None, silent) as stream:
            assert received(stream)
    done = [each for each in records if each.what == "follow-journal"]
    assert [(each.who, each.outcome) for each in done] == [("operations", "done")]


@pytest.mark.remuda_rule("EXT-166")
def test_a_journal_is_followed_over_tls(tmp_path: Path) -> None:
    journal_of(tmp_path)
    with Service(security=read_security(tls(), None), journal=tmp_path) as service:
        with JournalStream(service.address, FOR_CLIENT, None, silent) as stream:
            assert received(stream)
        with (
            JournalStream(service.address, NOBODY, None, silent) as stream,
            pytest.raises(NotAnsweredError),
        ):
            received(stream)


@pytest.mark.remuda_rule("EXT-164")
def test_a_place_that_is_gone_is_out_of_range(tmp_path: Path) -> None:
    last = journal_of(tmp_path)[-1].inputs
    with Service(journal=tmp_path) as service:
        for segment, offset, text in (
            ("x", 0, "'x' is not there (any more); begin again with the latest state"),
            (last.name, 1 << 40, f"{last.name} has {last.stat().st_size} bytes, and"),
        ):
            request = ext.FollowJournalRequest(segment=segment, offset=offset)
            code, said = refusal(service, request)
            assert code == "OUT_OF_RANGE"
            assert text in said


@pytest.mark.remuda_rule("EXT-166")
def test_a_follower_whose_segment_was_removed_begins_again(tmp_path: Path) -> None:
    *files, last = journal_of(tmp_path)
    left = [each.state.name for each in files if each.state is not None]
    told: list[str] = []
    with (
        Service(journal=tmp_path) as service,
        JournalStream(service.address, NOBODY, None, told.append) as stream,
    ):
        received(stream)
        last.inputs.unlink()
        found = received(stream)
    assert [each.name for each in found if each.begins] == left[-1:]
    assert left
    assert told[0].startswith(f"{service.address}: inputs are missing in what was followed: ")


@pytest.mark.remuda_rule("EXT-166")
def test_a_server_that_goes_away_is_called_again_at_the_same_place(tmp_path: Path) -> None:
    journal_of(tmp_path)
    told: list[str] = []
    with Service(journal=tmp_path) as service:
        address = service.address
        stream = JournalStream(address, NOBODY, None, told.append)
        before = received(stream)
    with stream:
        wait(lambda: stream.next(0.1) is None and bool(told))
        assert told[0].endswith("; trying again")
        files = journal_of(tmp_path)
        with Service(journal=tmp_path, address=address):
            after = received(stream)
    known = before[-1].name
    assert not any(each.begins for each in after)
    assert [each.name for each in after] == [e.inputs.name for e in files if e.inputs.name > known]
    assert told[1:] == [f"{address} answers again"]


@pytest.mark.remuda_rule("EXT-166")
def test_patience_ends_the_tries(tmp_path: Path) -> None:
    journal_of(tmp_path)
    with Service(journal=tmp_path) as service:
        stream = JournalStream(service.address, NOBODY, None, silent, patience=0.0)
        received(stream)

    with stream, pytest.raises(NotAnsweredError, match="no scheduler answers"):
        wait(lambda: stream.next(0.1) is not None)


@pytest.mark.remuda_rule("EXT-166")
def test_a_journal_whose_folder_is_gone_ends_it_with_one_line(tmp_path: Path) -> None:
    (tmp_path / "journal").mkdir()
    journal_of(tmp_path / "journal")
    with (
        Service(journal=tmp_path / "journal") as service,
        JournalStream(service.address, NOBODY, None, silent) as stream,
    ):
        received(stream)
        (tmp_path / "journal").rename(tmp_path / "elsewhere")
        with pytest.raises(NoJournalError, match="the journal cannot be read: No such file"):
            wait(lambda: stream.next(0.1) is not None)


class Ending(JournalServicer):
    """Ends each call, the first one after a piece; ``calls``: so many came."""

    def __init__(self, code: grpc.StatusCode) -> None:
        self.calls = 0
        self._code = code

    def Follow(  # noqa: N802 - a call's name
        self, request: ext.FollowJournalRequest, context: Any
    ) -> Iterator[ext.JournalPiece]:
        self.calls += 1
        if self.calls == 1:
            yield ext.JournalPiece(file="000000000000001-20260101T000000Z.jsonl", data=b"[")
        context.abort(self._code, "no more")


@pytest.mark.remuda_rule("EXT-166")
@pytest.mark.parametrize(
    "code, told", [("OUT_OF_RANGE", [False, True]), ("RESOURCE_EXHAUSTED", [True])]
)
def test_a_follower_whose_calls_end_says_so_once_and_has_patience(
    code: str, told: list[bool]
) -> None:
    server, lines = grpc.server(ThreadPoolExecutor(2)), list[str]()
    ending = Ending(grpc.StatusCode[code])
    add_JournalServicer_to_server(ending, server)
    address = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    server.start()
    try:
        with JournalStream(address, NOBODY, None, lines.append, patience=0.0) as stream:
            assert stream.next(SECONDS) is not None
            with pytest.raises(ClientError, match="no more"):
                wait(lambda: stream.next(0.1) is not None)
    finally:
        server.stop(None).wait()
    # The last call is not made again.
    assert ending.calls == len(told) + 1
    assert [line.endswith("; trying again") for line in lines] == told


@pytest.mark.remuda_rule("EXT-166")
def test_an_address_where_nobody_listens_ends_it_at_once() -> None:
    with (
        JournalStream("127.0.0.1:1", NOBODY, None, silent) as stream,
        pytest.raises(NotAnsweredError, match=r"no scheduler answers at 127\.0\.0\.1:1"),
    ):
        received(stream)


@pytest.mark.remuda_rule("EXT-166")
def test_a_second_address_is_tried_if_the_first_one_does_not_answer(tmp_path: Path) -> None:
    journal_of(tmp_path)
    with Service(journal=tmp_path) as service:
        addresses = f"127.0.0.1:1,{service.address}"
        with JournalStream(addresses, NOBODY, None, silent) as stream:
            assert received(stream)


@pytest.mark.remuda_rule("EXT-163")
def test_a_follower_that_reads_nothing_delays_nobody_and_nothing_waits_for_it(
    tmp_path: Path,
) -> None:
    segment = tmp_path / "000000000000001-20260101T000000Z.jsonl"
    size = 48 << 20
    segment.write_bytes(b'["remuda-recording",8]\n' + bytes(size))
    with Service(journal=tmp_path) as service:
        channel = grpc.insecure_channel(service.address)
        call = JournalStub(channel).Follow(ext.FollowJournalRequest(), timeout=6 * SECONDS)
        arrived = len(next(call).data)
        with JournalStream(service.address, NOBODY, None, silent) as stream:
            assert sum(len(each.content) for each in received(stream)) > size
        service.register()
        segment.unlink()
        with contextlib.suppress(grpc.RpcError):
            for piece in call:
                arrived += len(piece.data)
        assert call.code() is grpc.StatusCode.OUT_OF_RANGE
        assert arrived < size / 2
        channel.close()


@pytest.mark.remuda_rule("EXT-163")
def test_a_client_that_takes_nothing_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("remuda.edges.grpc.journal._WRITE_SECONDS", 0.2)
    segment = tmp_path / "000000000000001-20260101T000000Z.jsonl"
    segment.write_bytes(b'["remuda-recording",8]\n' + bytes(16 << 20))
    with Service(GrpcSettings(journal_followers_limit=1), journal=tmp_path) as service:
        call = JournalStub(service.channel).Follow(ext.FollowJournalRequest(), timeout=SECONDS)
        next(iter(call))
        # Its place is free although it did not go away.
        assert wait_for_room(service)
        with pytest.raises(grpc.RpcError):
            list(call)
        assert call.code() is grpc.StatusCode.DEADLINE_EXCEEDED
        assert "the client took nothing" in call.details()


@pytest.mark.remuda_rule("EXT-164")
def test_a_journal_without_a_beginning_ends_the_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("remuda.edges.grpc.journal._BEGIN_SECONDS", 0.0)
    *files, last = journal_of(tmp_path)
    for file in files:
        file.inputs.unlink()
    assert last.state is not None
    last.state.unlink()
    with Service(journal=tmp_path) as service:
        code, text = refusal(service)
    assert (code, text) == ("FAILED_PRECONDITION", f"the journal: {NO_STATE}")
