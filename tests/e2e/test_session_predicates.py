"""Predicate calls over a session: windows, budgets, verdicts that are void, handles, attaching."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from remuda.core.messages.application_views import ApplicationView
from remuda.core.messages.queries import ApplicationsQuery
from remuda.core.messages.rows import rows
from remuda.edges.grpc.settings import GrpcSettings
from remuda.si.pb import extension_pb2 as ext
from remuda.si.pb import si_pb2 as si
from remuda.si.protocol.terms import SessionLimits
from tests.e2e.grpc_service import Service
from tests.e2e.session_judge import ASKED, PATIENT, Judge, Result, cause_of, fits, refuses
from tests.e2e.session_stream import SECONDS, SessionStream
from tests.waiting import wait


@pytest.fixture
def service() -> Iterator[Service]:
    with Service(PATIENT) as running:
        yield running


@pytest.fixture
def judge(service: Service) -> Iterator[Judge]:
    stream = Judge(service.channel)
    yield stream
    stream.cut()


def log_of(service: Service, key: str) -> list[tuple[str, int]]:
    views = service.core.query(ApplicationsQuery("default", "", "rm")).result(SECONDS)
    (application,) = rows(ApplicationView, views)
    requests = {request.allocation_key: request for request in application.requests}
    return [(entry.message, entry.count) for entry in requests[key].log]


# ---------------------------------------------------------------------- questions and verdicts


@pytest.mark.remuda_rule("EXT-5", "EXT-13", "EXT-17", "SI-80")
def test_the_rm_says_which_node_an_ask_goes_to(judge: Judge) -> None:
    judge.start("n1", "n2", "n3")
    judge.ask("k")
    call = judge.call()
    assert call.budget_millis == 20_000
    (item,) = call.items
    assert (item.application_id, item.allocation_key, item.allocate) == ("app", "k", True)
    assert list(item.node_ids) == ["n1", "n2", "n3"]
    assert item.mode == ext.NodesPredicatesItem.FIRST_FIT
    judge.accept(call, 1)
    assert judge.allocations(1) == [("k-0", "n2")]


@pytest.mark.remuda_rule("EXT-17")
def test_the_budget_is_half_a_second_unless_said_otherwise() -> None:
    assert GrpcSettings().predicate_budget_ms == 500


@pytest.mark.remuda_rule("EXT-13")
def test_an_ask_for_several_wants_several_nodes(judge: Judge) -> None:
    judge.start("n1", "n2", "n3")
    judge.ask("k", count=2)
    call = judge.call()
    assert (call.items[0].mode, call.items[0].want) == (ext.NodesPredicatesItem.FIRST_N, 2)
    judge.answer(call, Result(status=Result.EVALUATED, fit=[0, 2], evaluated=3))
    assert judge.allocations(2) == [("k-0", "n1"), ("k-1", "n3")]


@pytest.mark.remuda_rule("EXT-15", "EXT-13")
def test_asks_of_a_class_are_asked_about_once(judge: Judge) -> None:
    judge.start("n1", "n2", "n3")
    asks = [
        si.AllocationAsk(
            allocationKey=key,
            applicationID="app",
            resourceAsk=si.Resource(resources={"vcore": si.Quantity(value=1)}),
            maxAllocations=1,
            tags={"remuda/predicateClass": "web"} if key == "a" else {},
        )
        for key in ("a", "b", "c")
    ]
    named = [ext.PredicateClass(name="web", asks=[1]), ext.PredicateClass(name="db", asks=[2])]
    content = ext.ClassedAllocationRequest(request=si.AllocationRequest(asks=asks), classes=named)
    judge.send(classed_allocation=content)
    call = judge.call()
    told = [(item.allocation_key, item.equivalence, item.want) for item in call.items]
    assert told == [("a", 1, 2), ("c", 2, 0)]
    evaluated = [
        Result(status=Result.EVALUATED, fit=[0, 1], evaluated=2),
        Result(status=Result.EVALUATED, fit=[0], evaluated=1),
    ]
    judge.answer(call, *evaluated)
    assert judge.allocations(3) == [("a-0", "n1"), ("b-0", "n2"), ("c-0", "n3")]


@pytest.mark.remuda_rule("EXT-16", "SI-80")
def test_refusals_are_grouped_by_reason_and_logged(service: Service, judge: Judge) -> None:
    judge.start("n1", "n2", "n3")
    judge.ask("k")
    call = judge.call()
    failures = [
        ext.PredicateFailure(reason="tainted", candidates=[0, 2], count=2),
        ext.PredicateFailure(reason="no volume", candidates=[1], count=1),
    ]
    judge.answer(call, Result(status=Result.EVALUATED, evaluated=3, failures=failures))
    expected = [("no volume", 1), ("tainted", 2)]
    wait(lambda: len(log_of(service, "k")) == 2)
    assert sorted(log_of(service, "k")) == expected


@pytest.mark.remuda_rule("EXT-4", "EXT-5")
def test_a_call_comes_after_all_that_was_decided_before(judge: Judge) -> None:
    judge.start("n1")
    judge.ask("a", "b")
    first = judge.call()
    asked = [item.allocation_key for item in first.items]
    while len(asked) < 2:
        judge.accept(first)
        first = judge.call()
        asked += [item.allocation_key for item in first.items]
    assert asked[0] == "a"
    judge.accept(first)
    news: list[str] = []
    while True:
        frame = judge.receive()
        news += [new.allocationID for new in frame.allocation.new]
        if frame.HasField("nodes_predicates"):
            break
    # The node that took "a" has changed, so "b" is asked about again, after the RM was told.
    assert news == ["a-0"]
    (item,) = frame.nodes_predicates.items
    assert (item.allocation_key, list(item.node_ids)) == ("b", ["n1"])


@pytest.mark.remuda_rule("EXT-5")
def test_a_verdict_older_than_a_change_of_the_node_is_asked_for_again(judge: Judge) -> None:
    judge.start("n1", "n2")
    judge.ask("a")
    judge.accept(judge.call())
    assert judge.allocations(1) == [("a-0", "n1")]
    told = judge.got
    judge.release("a-0")
    judge.until("allocation")
    judge.ask("b")
    call = judge.call()
    assert set(call.items[0].node_ids) == {"n1", "n2"}
    place = list(call.items[0].node_ids).index("n1")
    both = Result(status=Result.EVALUATED, fit=[0, 1], evaluated=2)
    judge.answer(call, both, applied=told - 1)
    if place == 0:
        again = judge.call()
        assert list(again.items[0].node_ids) == ["n1"]
        judge.accept(again)
    (placed,) = judge.allocations(1)
    assert placed == ("b-0", call.items[0].node_ids[0])


@pytest.mark.remuda_rule("EXT-5", "EXT-17")
def test_an_rm_whose_answers_are_always_too_old_is_not_asked_without_end(
    service: Service, judge: Judge
) -> None:
    judge.start("n1")
    judge.ask("a")
    judge.accept(judge.call())
    judge.allocations(1)
    judge.ask("b")
    for _ in range(3):
        judge.answer(judge.call(), fits(0), applied=0)
    assert judge.silent(0.5)
    judge.accept(judge.call())
    assert judge.allocations(1) == [("b-0", "n1")]


@pytest.mark.remuda_rule("EXT-13", "EXT-14")
def test_five_thousand_nodes_are_asked_about_in_growing_windows(judge: Judge) -> None:
    judge.start(*[f"n{number:04}" for number in range(5_000)])
    judge.ask("k")
    call = judge.call()
    candidates = list(call.items[0].node_ids)
    sizes, seen = [len(candidates)], set(candidates)
    while len(seen) < 5_000:
        judge.answer(call, refuses(len(candidates)))
        call = judge.call()
        candidates = list(call.items[0].node_ids)
        sizes.append(len(candidates))
        seen.update(candidates)
    assert sizes == [16, 64, 256, 1024, 1024, 1024, 1024, 568]
    judge.accept(call, 7)
    (placed,) = judge.allocations(1)
    assert placed == ("k-0", candidates[7])


@pytest.mark.remuda_rule("EXT-6", "EXT-13")
def test_the_rm_limits_calls_and_candidates(service: Service) -> None:
    judge = Judge(service.channel)
    limits = ext.Limits(max_calls=1, max_nodes_per_call=2)
    judge.start("n1", "n2", "n3", limits=limits)
    judge.ask("a", "b", "c")
    first = judge.call()
    assert list(first.items[0].node_ids) == ["n1", "n2"]
    assert judge.silent()
    judge.answer(first, *[refuses(2) for _ in first.items])
    asked = [item.allocation_key for item in judge.call().items]
    assert asked
    judge.cut()


@pytest.mark.remuda_rule("EXT-14")
def test_several_asks_go_into_one_call_while_others_are_in_flight(service: Service) -> None:
    judge = Judge(service.channel)
    judge.start(*[f"n{number}" for number in range(40)], limits=ext.Limits(max_calls=1))
    judge.ask(*[f"k{number:02}" for number in range(40)])
    calls = 0
    placed: list[str] = []
    while len(placed) < 40:
        frame = judge.receive()
        placed += [new.allocationID for new in frame.allocation.new]
        if frame.HasField("nodes_predicates"):
            calls += 1
            items = frame.nodes_predicates.items
            # Each ask has a node of its own, so that nobody takes what another was promised.
            judge.answer(
                frame.nodes_predicates,
                *[own_node(item, int(item.allocation_key[1:])) for item in items],
            )
    assert placed == [f"k{number:02}-0" for number in range(40)]
    assert calls < 40
    judge.cut()


def own_node(item: ext.NodesPredicatesItem, number: int) -> Result:
    names = list(item.node_ids)
    if f"n{number}" in names:
        return fits(names.index(f"n{number}"))
    return refuses(len(names))


# ---------------------------------------------------------------------- no answer


@pytest.mark.remuda_rule("EXT-17")
@pytest.mark.parametrize(
    "item",
    [
        Result(status=Result.NOT_EVALUATED),
        Result(status=Result.ERROR, error="broken"),
        Result(),
        Result(status=Result.EVALUATED, fit=[5], evaluated=6),
        Result(status=Result.EVALUATED, fit=[1, 0], evaluated=2),
        Result(status=Result.EVALUATED, fit=[0], evaluated=0),
        Result(
            status=Result.EVALUATED,
            evaluated=2,
            failures=[ext.PredicateFailure(reason="x", candidates=[7])],
        ),
        None,
    ],
)
def test_what_was_not_evaluated_is_tried_again_later_without_a_word(
    service: Service, judge: Judge, item: Result | None
) -> None:
    judge.start("n1", "n2")
    judge.ask("k")
    call = judge.call()
    judge.answer(call, *([item] if item is not None else []))
    assert judge.silent(0.5)
    assert log_of(service, "k") == []
    again = judge.call()
    assert list(again.items[0].node_ids) == ["n1", "n2"]
    judge.accept(again)
    assert judge.allocations(1) == [("k-0", "n1")]


@pytest.mark.remuda_rule("EXT-17")
def test_an_ask_the_rm_does_not_know_is_skipped_and_counted(service: Service, judge: Judge) -> None:
    judge.start("n1")
    judge.ask("gone", "k")
    asked: dict[str, ext.NodesPredicates] = {}
    placed: list[tuple[str, str]] = []
    while not placed:
        frame = judge.receive()
        placed += [(new.allocationID, new.nodeID) for new in frame.allocation.new]
        if frame.HasField("nodes_predicates"):
            call = frame.nodes_predicates
            asked |= {item.allocation_key: call for item in call.items}
            unknown = Result(status=Result.UNKNOWN_ALLOCATION)
            items = [unknown if item.allocation_key == "gone" else fits(0) for item in call.items]
            judge.answer(call, *items)
    assert placed == [("k-0", "n1")]
    binding = service.server._session_service.find("rm")
    assert binding is not None
    assert binding.outlet.inquiries.questions.unknown == 1
    assert [item.allocation_key for item in judge.call().items] == ["gone"]


@pytest.mark.remuda_rule("EXT-17")
def test_an_answer_after_the_budget_is_no_answer() -> None:
    with Service(GrpcSettings(predicate_budget_ms=100)) as service:
        judge = Judge(service.channel)
        judge.start("n1")
        judge.ask("k")
        call = judge.call()
        assert judge.until("cancel").cancel.call_id == call.call_id
        judge.accept(call)
        assert judge.silent(0.3)
        assert log_of(service, "k") == []
        again = judge.call()
        assert again.call_id > call.call_id
        judge.accept(again)
        assert judge.allocations(1) == [("k-0", "n1")]
        judge.cut()


@pytest.mark.remuda_rule("EXT-17", "RM-15")
def test_ten_overdue_calls_in_a_row_pause_the_rm() -> None:
    settings = GrpcSettings(predicate_budget_ms=300, session_limits=SessionLimits(max_calls=16))
    with Service(settings) as service:
        judge = Judge(service.channel)
        welcome = judge.start("n1")
        for number in range(10):
            judge.ask(f"k{number}")
            assert len(judge.call().items) == 1
        goodbye = judge.goodbye()
        assert goodbye.reason == ext.Goodbye.OVERLOADED
        assert "predicate calls" in goodbye.message
        wait(lambda: cause_of(service) == ("PAUSED", "predicates"))
        again = Judge(service.channel, sent=judge.sent, got=judge.got)
        assert again.resume("rm", welcome.session_id, judge.got).HasField("welcome")
        wait(lambda: cause_of(service) == ("RUNNING", ""))
        call = again.call()
        again.answer(call, *[fits(0) for _ in call.items])
        assert again.allocations(1)[0][1] == "n1"
        judge.cut()
        again.cut()


@pytest.mark.remuda_rule("EXT-10", "EXT-9")
def test_calls_die_with_their_stream(service: Service, judge: Judge) -> None:
    welcome = judge.start("n1")
    judge.ask("k")
    call = judge.call()
    judge.cut()
    wait(lambda: cause_of(service)[0] == "PAUSED")
    again = Judge(service.channel, sent=judge.sent, got=judge.got)
    again.resume("rm", welcome.session_id, judge.got)
    again.accept(call)
    later = again.call()
    assert later.call_id > call.call_id
    again.accept(later)
    assert again.allocations(1) == [("k-0", "n1")]
    again.cut()


@pytest.mark.remuda_rule("EXT-10", "EXT-9")
def test_a_call_that_did_not_arrive_is_cancelled_after_a_resume(service: Service) -> None:
    judge = Judge(service.channel, acks=False)
    welcome = judge.start("n1")
    judge.ask("k")
    call = judge.call()
    judge.cut()
    wait(lambda: cause_of(service)[0] == "PAUSED")
    before = judge.got - 1
    again = Judge(service.channel, sent=judge.sent, got=before)
    assert again.resume("rm", welcome.session_id, before).HasField("welcome")
    assert again.receive().cancel.call_id == call.call_id
    again.cut()


@pytest.mark.remuda_rule("EXT-20", "SI-106")
def test_without_the_feature_every_node_is_acceptable(service: Service) -> None:
    stream = SessionStream(service.channel)
    stream.register(features=["responses"])
    stream.nodes("n1")
    stream.app()
    stream.ask("k")
    assert stream.allocations(1) == [("k-0", "n1")]
    stream.cut()


# ---------------------------------------------------------------------- handles


@pytest.mark.remuda_rule("EXT-19")
def test_nodes_have_handles_that_are_told_first_and_never_used_again(service: Service) -> None:
    judge = Judge(service.channel)
    judge.start("n1", "n2", features=[*ASKED, "node-handles"])
    judge.ask("a")
    table = judge.until("node_table").node_table
    handles = {name: handle for handle, name in table.added.items()}
    assert set(handles) == {"n1", "n2"}
    call = judge.call()
    assert list(call.items[0].node_ids) == []
    assert list(call.items[0].handles) == [handles["n1"], handles["n2"]]
    judge.accept(call)
    judge.allocations(1)
    gone = si.NodeInfo(nodeID="n2", action=si.NodeInfo.DECOMISSION)
    judge.send(node=si.NodeRequest(nodes=[gone]))
    judge.nodes("n2")
    judge.until("node")
    judge.ask("b")
    table = judge.until("node_table").node_table
    assert list(table.removed) == [handles["n2"]]
    ((handle, name),) = table.added.items()
    assert name == "n2"
    assert handle > max(handles.values())
    call = judge.call()
    assert set(call.items[0].handles) == {handles["n1"], handle}
    judge.cut()


# ---------------------------------------------------------------------- attaching


@pytest.mark.remuda_rule("EXT-8", "EXT-13", "EXT-14")
@pytest.mark.parametrize("handles", [False, True], ids=["names", "handles"])
def test_calls_keep_to_the_frame_limit(service: Service, handles: bool) -> None:
    judge = Judge(service.channel)
    limits = ext.Limits(max_frame_bytes=65_536)
    features = [*ASKED, "events", *(["node-handles"] if handles else [])]
    judge.register(features=features, limits=limits)
    names = [f"{number:04}" + "x" * 1_000 for number in range(300)]
    for start in range(0, 300, 50):
        judge.nodes(*names[start : start + 50])
    judge.app()
    judge.ask(*[f"k{number}" for number in range(12)])
    sizes: list[int] = []
    judged: dict[str, set[str]] = {}
    known: dict[int, str] = {}
    while not any(len(nodes) >= 100 for nodes in judged.values()):
        frame = judge.receive()
        sizes.append(frame.ByteSize())
        known.update(frame.node_table.added)
        if frame.HasField("nodes_predicates"):
            call = frame.nodes_predicates
            for item in call.items:
                found = {known[handle] for handle in item.handles} or set(item.node_ids)
                judged.setdefault(item.allocation_key, set()).update(found)
            counts = [len(item.handles) or len(item.node_ids) for item in call.items]
            judge.answer(call, *[refuses(count) for count in counts])
    assert max(sizes) <= 65_536
    judge.cut()


@pytest.mark.remuda_rule("EXT-6", "EXT-9", "EXT-13")
def test_a_resume_agrees_on_calls_and_candidates_anew(service: Service) -> None:
    first = Judge(service.channel)
    welcome = first.start("n1", "n2", "n3")
    first.until("application")  # the last of what was sent has arrived
    first.cut()
    second = Judge(service.channel, sent=first.sent, got=first.got)
    limits = ext.Limits(max_calls=1, max_nodes_per_call=2)
    assert second.resume("rm", welcome.session_id, first.got, limits=limits).HasField("welcome")
    second.ask("a", cores=1)
    call = second.call()
    assert [len(item.node_ids) for item in call.items] == [2]
    second.ask("b", cores=2)
    assert second.silent()  # one call is in flight
    second.answer(call, fits(0))
    assert [item.allocation_key for item in second.call().items] == ["b"]
    second.cut()
