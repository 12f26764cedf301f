"""The limits of questions over gRPC, who is told what they refuse, and the pages of long lists."""

from __future__ import annotations

import asyncio
import hashlib
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import grpc
import pytest

from remuda.base.scopes import Scope
from remuda.client import Client
from remuda.config.load import load_configuration
from remuda.core.messages.commands import RegisterResourceManager
from remuda.edges.grpc.security import Security
from remuda.edges.grpc.settings import GrpcSettings
from remuda.edges.identities import AccessRules
from remuda.edges.questions.copies import Reader
from remuda.edges.questions.submission import submission
from remuda.edges.rights import Identity
from remuda.runtime.forks.limits import FORK_LIMITS
from remuda.si.pb import extension_pb2 as ext
from remuda.si.pb.extension_pb2_grpc import InsightStub
from remuda.telemetry.audit.records import AUTHORIZE, REFUSED, Record
from tests.e2e.grpc_service import Service, load
from tests.e2e.test_grpc_insight import PAGE, SECONDS, TEAM, asked, refused
from tests.waiting import wait

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="copies take /proc")


@contextmanager
def waiting_ask(service: Service) -> Iterator[None]:
    """Have an application whose ask waits, inside."""
    with Client(service.address, "rm") as client:
        client.register()
        client.add_application("report", queue="root.a")
        client.ask("report", "page", {"vcore": 2_000})
        stub = InsightStub(service.channel)

        def known() -> bool:
            try:
                return bool(stub.Explain(ext.ExplainRequest(**PAGE), timeout=SECONDS).waits)
            except grpc.RpcError as error:
                return bool(error.code() is not grpc.StatusCode.NOT_FOUND)

        wait(known)
        yield


@pytest.fixture
def service() -> Iterator[Service]:
    """A service of this process, with an application whose ask waits."""
    with Service(asked=True) as running, waiting_ask(running):
        yield running


WANTED: Final = submission({"applicationId": "x"}, "default", "rm", None)


class Held:
    """Work of a copy that ends when ``file`` is there."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def __call__(self, *_: object) -> bytes:
        """Answer a question, or stand for what answers it."""
        return self.pack(None)

    def pack(self, _shape: object) -> bytes:
        """Wait; the limit of a copy's time ends it otherwise."""
        while not self.file.exists():
            time.sleep(0.01)
        return b"done"


@pytest.mark.remuda_rule("EXT-160", "EXT-66", "EXT-43")
def test_without_a_place_for_a_copy_a_client_is_told_to_come_again(
    service: Service, tmp_path: Path
) -> None:
    stub = InsightStub(service.channel)
    held = Held(tmp_path / "go on")
    taken = [service.core.operations.answer_on_copy(held) for _ in range(FORK_LIMITS.copies)]
    code, text = refused(stub.Explain, ext.ExplainRequest(**PAGE))
    held.file.touch()
    assert [each.result() for each in taken] == [b"done"] * FORK_LIMITS.copies
    assert code is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert "2 copies of the scheduler answer questions already" in text
    assert asked(stub.Explain, ext.ExplainRequest(**PAGE)).waits


@pytest.mark.remuda_rule("EXT-66")
def test_a_question_waits_for_one_of_the_same_caller_over_http(
    service: Service, tmp_path: Path
) -> None:
    stub = InsightStub(service.channel)
    held = Held(tmp_path / "go on")
    assert service.insight is not None
    # A reader over HTTP from the same address.
    http = Reader("default", "rm", None, "127.0.0.1")
    first = asyncio.run_coroutine_threadsafe(
        service.insight.questions.explain(http, "report", "page", held.pack), service._loop
    )
    request = ext.ExplainRequest(**PAGE)
    with pytest.raises(grpc.RpcError) as error:
        stub.Explain(request, timeout=1)
    waited: Any = error.value
    assert waited.code() is grpc.StatusCode.DEADLINE_EXCEEDED
    second = stub.Explain.future(request, timeout=SECONDS)
    held.file.touch()
    assert first.result(SECONDS) == b"done"
    assert second.result().waits


@pytest.mark.remuda_rule("EXT-66")
def test_a_caller_that_gives_up_takes_no_second_place(
    service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = Held(tmp_path / "go on")
    monkeypatch.setattr("remuda.edges.questions.copies.explain", held)
    stub = InsightStub(service.channel)
    for _ in range(2):
        with pytest.raises(grpc.RpcError) as error:
            stub.Explain(ext.ExplainRequest(**PAGE), timeout=1)
        given_up: Any = error.value
        assert given_up.code() is grpc.StatusCode.DEADLINE_EXCEEDED
    assert service.insight is not None
    other = Reader("default", "rm", None, "somebody else")
    work = service.insight.questions.dry_run(other, WANTED, held.pack)
    second = asyncio.run_coroutine_threadsafe(work, service._loop)
    held.file.touch()
    assert second.result(SECONDS) == b"done"


@pytest.mark.remuda_rule("EXT-66", "EXT-70")
def test_configurations_of_one_caller_do_not_keep_those_of_others_waiting(tmp_path: Path) -> None:
    tokens = {"ada": "battery staple", "bo": "correct horse"}
    readers = [
        Identity(name, (), (hashlib.sha256(token.encode()).digest(),), (), read=True)
        for name, token in tokens.items()
    ]
    security = Security(access=AccessRules(tuple(readers)))
    held = Held(tmp_path / "go on")
    with Service(asked=True, security=security) as running:
        assert running.insight is not None
        registration = RegisterResourceManager("rm", load(""))
        assert running.core.register(registration).result(SECONDS).reason == ""
        questions = running.insight.questions
        # Nobody is told to come again here.
        questions._turns._patience = SECONDS
        work = questions.dry_run(Reader("default", "rm", None, "ada"), WANTED, held.pack)
        first = asyncio.run_coroutine_threadsafe(work, running._loop)
        call = InsightStub(running.channel).ConfigImpact
        request = ext.ConfigImpactRequest(config="partitions: []", within=0)

        def caller(name: str) -> Any:
            metadata = (("authorization", f"Bearer {tokens[name]}"),)
            return call.future(request, metadata=metadata, timeout=SECONDS / 2)

        waiting = [caller("ada") for _ in range(5)]
        wait(lambda: questions._turns._present.get("ada", 0) >= 5)
        assert caller("bo").result().HasField("impact")
        assert not any(each.done() for each in waiting)
        held.file.touch()
        assert first.result(SECONDS) == b"done"
        assert all(each.result().HasField("impact") for each in waiting)


@pytest.mark.remuda_rule("EXT-160", "EXT-66")
def test_without_copies_of_the_process_the_answer_says_so(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GRPC_ENABLE_FORK_SUPPORT", "1")
    code, text = refused(InsightStub(service.channel).Explain, ext.ExplainRequest(**PAGE))
    assert code is grpc.StatusCode.UNIMPLEMENTED
    assert text.startswith("The scheduler cannot be copied on this machine")


@pytest.mark.remuda_rule("EXT-160")
def test_a_fault_in_a_copy_is_not_told_to_callers(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fault(*_: object) -> bytes:
        raise ZeroDivisionError("where nobody looks")

    monkeypatch.setattr("remuda.edges.questions.copies.explain", fault)
    answer = refused(InsightStub(service.channel).Explain, ext.ExplainRequest(**PAGE))
    assert answer == (grpc.StatusCode.INTERNAL, "Internal server error")


@pytest.mark.remuda_rule("EXT-157")
def test_a_server_without_answers_does_not_offer_the_service() -> None:
    with Service() as running:
        code, _ = refused(InsightStub(running.channel).Explain, ext.ExplainRequest(**PAGE))
        assert code is grpc.StatusCode.UNIMPLEMENTED


@pytest.mark.remuda_rule("EXT-160")
def test_an_answer_that_clients_would_not_take_is_refused() -> None:
    with Service(GrpcSettings(send_bytes_limit=64), asked=True) as running, waiting_ask(running):
        code, text = refused(InsightStub(running.channel).Explain, ext.ExplainRequest(**PAGE))
    assert code is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert text.endswith(" bytes; a message has at most 64: ask over HTTP")


@pytest.mark.remuda_rule("EXT-160", "EXT-39")
def test_while_memory_is_scarce_no_copy_is_made() -> None:
    with Service(asked=True, scarce=True) as running, waiting_ask(running):
        code, text = refused(InsightStub(running.channel).Explain, ext.ExplainRequest(**PAGE))
    assert code is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert text.startswith("The scheduler runs short of memory")


@pytest.mark.remuda_rule("EXT-159", "EXT-26")
def test_what_is_beyond_the_scope_is_in_the_audit_log() -> None:
    records: list[Record] = []
    digest = hashlib.sha256(TEAM.encode()).digest()
    team = Identity("team", (), (digest,), (), read=True, reads=Scope((), ("root.a",)))
    security = Security(access=AccessRules((team,)))
    with Service(asked=True, security=security, audit=records.append) as running:
        stub = InsightStub(running.channel)
        request = ext.ForecastRequest(partition="default", queue="root.b")
        assert refused(stub.Forecast, request, TEAM)[0] is grpc.StatusCode.PERMISSION_DENIED
    (record,) = [each for each in records if each.what == AUTHORIZE]
    assert (record.outcome, record.who) == (REFUSED, "team")
    assert record.target == "/remuda.v1.Insight/Forecast"
    assert record.reason == (
        "The scope of the caller does not include queue root.b of partition default"
    )


@pytest.mark.remuda_rule("EXT-158", "EXT-60")
def test_the_pages_of_many_queues_have_each_queue_once() -> None:
    names = [f"q{number:03}" for number in range(230)]
    leaves = ", ".join([f"{{name: {name}}}" for name in names])
    text = f"partitions: [{{name: default, queues: [{{name: root, queues: [{leaves}]}}]}}]"
    stored = load_configuration(text)
    with (
        Service(asked=True, load=load_configuration, stored=stored) as running,
        Client(running.address, "rm") as client,
    ):
        client.register()
        stub = InsightStub(running.channel)
        pages: list[list[str]] = []
        token = ""
        while not pages or token:
            page = asked(stub.ListFairShares, ext.ListFairSharesRequest(page_token=token))
            pages.append([each.queue_name for each in page.queues])
            token = page.next_page_token
    assert [len(page) for page in pages] == [200, 31]
    assert pages[0] + pages[1] == ["root", *[f"root.{name}" for name in names]]
