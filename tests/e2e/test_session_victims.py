"""Questions about victims over a session: calls, budgets, frames that are too small, the client."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import Self

import pytest

from remuda.core.messages.commands import (
    BindPredicates,
    Command,
    PreemptionVerdicts,
    RegisterResourceManager,
)
from remuda.core.ports import PreemptionItem
from remuda.edges.grpc.bindings.binding import Binding
from remuda.edges.grpc.settings import GrpcSettings
from remuda.session.client import SessionClient
from remuda.session.judge import Judge
from remuda.si.pb import extension_pb2 as ext
from remuda.si.pb import si_pb2 as si
from tests.e2e.grpc_service import Service
from tests.e2e.session_judge import PATIENT, ask_request, cause_of, refuses
from tests.e2e.session_stream import SessionStream
from tests.unit.runtime.fakes import Evicting, Factory, asks
from tests.waiting import wait

VICTIMS = ("responses", "preemption-predicates")
BOTH = (*VICTIMS, "predicates")


def item(node_id: str, *victims: str, start: int = 0) -> PreemptionItem:
    return PreemptionItem("", node_id, victims, start, "app")


def yes(index: int) -> si.PreemptionPredicatesResponse:
    return si.PreemptionPredicatesResponse(success=True, index=index)


NO = si.PreemptionPredicatesResponse(success=False, index=-1)


class Board:
    """A service around a scheduler that asks about victims, and the stream of one RM.

    The scheduler asks about ``items`` whenever an ask comes, and places that on n1 at once.
    """

    def __init__(self, settings: GrpcSettings = PATIENT) -> None:
        self._factory = Factory(Evicting)
        self.service = Service(settings, make_scheduler=self._factory)

    def __enter__(self) -> Self:
        self.service.__enter__()
        self.stream = SessionStream(self.service.channel)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stream.cut()
        self.service.__exit__(kind, error, traceback)

    def register(
        self, *items: PreemptionItem, features: Iterable[str] = VICTIMS, **limits: int
    ) -> None:
        self.stream.register(features=features, limits=ext.Limits(**limits))
        if items:
            self.scheduler.items = items

    @property
    def scheduler(self) -> Evicting:
        scheduler = self._factory.scheduler
        assert isinstance(scheduler, Evicting)
        return scheduler

    @property
    def binding(self) -> Binding:
        binding = self.service.server._session_service.find("rm")
        assert binding is not None
        return binding

    def call(self) -> ext.PreemptionPredicates:
        return self.stream.until("preemption_predicates").preemption_predicates

    def answer(
        self,
        call: ext.PreemptionPredicates,
        *verdicts: si.PreemptionPredicatesResponse,
        applied: int | None = None,
        error: str = "",
    ) -> None:
        result = ext.PreemptionPredicatesResult(
            call_id=call.call_id,
            applied_seq=self.stream.got if applied is None else applied,
            items=verdicts,
            error=error,
        )
        self.stream.send(preemption_predicates=result)

    def handled(self, kind: type[Command], count: int = 1) -> list[Command]:
        """What the scheduler was told, of one kind, as soon as there is so much of it."""

        def found() -> list[Command]:
            return [each for each in self.scheduler.handled if isinstance(each, kind)]

        wait(lambda: len(found()) >= count)
        return found()

    def told(self, count: int = 1) -> list[tuple[int, tuple[tuple[bool, int], ...]]]:
        """What came of so many questions: the ticket, and the verdicts."""
        commands = self.handled(PreemptionVerdicts, count)
        return [(c.ticket, c.verdicts) for c in commands if isinstance(c, PreemptionVerdicts)]


@pytest.fixture
def board() -> Iterator[Board]:
    with Board() as running:
        yield running


# ---------------------------------------------------------------------- questions and verdicts


@pytest.mark.remuda_rule("EXT-4", "EXT-18", "PRE-24")
def test_an_rm_is_asked_about_victims_after_all_that_was_decided_before(board: Board) -> None:
    board.register(item("n1", "v1", "v2", start=1), item("n2", "v3"))
    board.stream.ask("k")
    assert board.stream.receive().allocation.new[0].allocationKey == "k"
    call = board.stream.receive().preemption_predicates
    assert (call.first_success, call.budget_millis) == (False, 20_000)
    assert [(each.allocationKey, each.nodeID, each.startIndex) for each in call.items] == [
        ("k", "n1", 1),
        ("k", "n2", 0),
    ]
    assert [list(each.preemptAllocationKeys) for each in call.items] == [["v1", "v2"], ["v3"]]
    board.answer(call, NO, yes(0))
    assert board.told() == [(1, ((False, -1), (True, 0)))]


@pytest.mark.remuda_rule("SI-81", "PRE-27")
def test_an_index_that_is_no_victim_is_a_failure(board: Board) -> None:
    board.register(*[item(f"n{number}", "v1", "v2") for number in range(1, 4)])
    board.stream.ask("k")
    board.answer(board.call(), yes(2), yes(-1), yes(1))
    assert board.told() == [(1, ((False, -1), (False, -1), (True, 1)))]


@pytest.mark.remuda_rule("EXT-17", "EXT-18")
def test_what_an_rm_does_not_judge_is_not_known(board: Board) -> None:
    board.register(*[item(f"n{number}", "v1") for number in range(1, 4)])
    board.stream.ask("a")
    board.answer(board.call(), yes(0))
    board.stream.ask("b")
    board.answer(board.call(), yes(0), error="no idea")
    assert board.told(2) == [(1, ((True, 0),)), (2, ())]


@pytest.mark.remuda_rule("EXT-18", "EXT-20", "PRE-28")
@pytest.mark.parametrize("features", [VICTIMS, ("responses",), BOTH, ("predicates",)])
def test_only_an_rm_that_names_the_feature_is_asked(
    board: Board, features: tuple[str, ...]
) -> None:
    board.register(features=features)
    (registered,) = board.handled(RegisterResourceManager)
    assert isinstance(registered, RegisterResourceManager)
    named = (registered.predicates, registered.preemption_predicates)
    assert named == ("predicates" in features, "preemption-predicates" in features)


@pytest.mark.remuda_rule("EXT-5", "EXT-18")
def test_a_verdict_on_a_node_that_changed_meanwhile_is_asked_for_again(board: Board) -> None:
    board.register(item("n1", "v1"), item("n2", "v2"))
    board.stream.ask("k")
    call = board.call()
    # The frame before the call placed something on n1, and the RM had not seen that.
    board.answer(call, yes(0), yes(0), applied=board.stream.got - 2)
    again = board.call()
    assert [each.nodeID for each in again.items] == ["n1"]
    board.answer(again, NO)
    assert board.told() == [(1, ((False, -1), (True, 0)))]


@pytest.mark.remuda_rule("EXT-5", "EXT-17")
def test_an_rm_whose_answers_are_always_too_old_is_not_asked_without_end(board: Board) -> None:
    board.register(item("n1", "v1"))
    board.stream.ask("k")
    for _ in range(3):
        board.answer(board.call(), yes(0), applied=0)
    assert board.told() == [(1, ())]


@pytest.mark.remuda_rule("EXT-18")
def test_who_wants_the_first_success_only_is_told_what_one_call_says(board: Board) -> None:
    board.register(item("n1", "v1"), item("n2", "v2"), item("n3", start=-1), item("n4", "v4"))
    board.scheduler.first_success = True
    board.stream.ask("k")
    call = board.call()
    assert call.first_success
    assert [each.nodeID for each in call.items] == ["n1", "n2"]
    board.answer(call, NO, yes(0))
    assert board.told() == [(1, ((False, -1), (True, 0)))]


# ---------------------------------------------------------------------- nobody has to go


@pytest.mark.remuda_rule("PRE-26", "SI-81", "EXT-13")
def test_where_nobody_would_have_to_go_the_predicates_for_nodes_are_asked(board: Board) -> None:
    free = [item(name, start=-1) for name in ("n1", "n3")]
    board.register(free[0], item("n2", "v1"), free[1], features=BOTH)
    board.stream.ask("k")
    frames = [board.stream.until("preemption_predicates"), board.stream.until("nodes_predicates")]
    victims, nodes = frames[0].preemption_predicates, frames[1].nodes_predicates
    (asked,) = nodes.items
    assert (asked.application_id, asked.allocation_key, asked.allocate) == ("app", "k", True)
    assert (list(asked.node_ids), asked.want) == (["n1", "n3"], 2)
    assert [each.nodeID for each in victims.items] == ["n2"]
    board.answer(victims, yes(0))
    result = ext.NodesPredicatesItemResult(
        status=ext.NodesPredicatesItemResult.EVALUATED, fit=[1], evaluated=2
    )
    answer = ext.NodesPredicatesResult(
        call_id=nodes.call_id, applied_seq=board.stream.got, items=[result]
    )
    board.stream.send(nodes_predicates=answer)
    assert board.told() == [(1, ((False, -1), (True, 0), (True, -1)))]


@pytest.mark.remuda_rule("PRE-26", "EXT-20")
def test_without_predicates_for_nodes_a_node_with_room_passes(board: Board) -> None:
    board.register(item("n1", start=-1), item("n2", start=-1))
    board.stream.ask("k")
    assert board.told() == [(1, ((True, -1), (True, -1)))]


@pytest.mark.remuda_rule("PRE-26", "EXT-5", "EXT-13")
def test_nodes_with_room_are_asked_about_in_calls_as_large_as_the_rm_takes(board: Board) -> None:
    items = [item(f"n{number}", start=-1) for number in range(1, 4)]
    board.register(*items, features=BOTH, max_nodes_per_call=2)
    board.stream.ask("k")
    call = board.stream.until("nodes_predicates").nodes_predicates
    assert [list(each.node_ids) for each in call.items] == [["n1", "n2"], ["n3"]]
    fit = ext.NodesPredicatesItemResult(
        status=ext.NodesPredicatesItemResult.EVALUATED, fit=[0, 1], evaluated=2
    )
    # n1 changed after what this answer knows of.
    answer = ext.NodesPredicatesResult(call_id=call.call_id, applied_seq=0, items=[fit, refuses(1)])
    board.stream.send(nodes_predicates=answer)
    again = board.stream.until("nodes_predicates").nodes_predicates
    assert [list(each.node_ids) for each in again.items] == [["n1"]]
    one = ext.NodesPredicatesResult(
        call_id=again.call_id, applied_seq=board.stream.got, items=[refuses(1)]
    )
    board.stream.send(nodes_predicates=one)
    assert board.told() == [(1, ((False, -1), (True, -1), (False, -1)))]


# ---------------------------------------------------------------------- no answer


@pytest.mark.remuda_rule("EXT-17", "EXT-18")
def test_a_call_that_is_overdue_is_over() -> None:
    with Board(GrpcSettings(predicate_budget_ms=50)) as board:
        board.register()
        board.stream.ask("k")
        call = board.call()
        assert board.stream.until("cancel").cancel.call_id == call.call_id
        assert board.told() == [(1, ())]
        board.answer(call, yes(0), yes(0))
        board.stream.ask("l")
        assert board.told(2)[1] == (2, ())


@pytest.mark.remuda_rule("EXT-17", "RM-15")
def test_ten_overdue_calls_in_a_row_of_whatever_kind_are_too_many() -> None:
    with Board(GrpcSettings(predicate_budget_ms=50)) as board:
        board.register(item("n1", "v1"), item("n2", start=-1), features=BOTH)
        # Nine calls about victims, and one about the nodes of all of them.
        board.stream.ask(*[f"k{number}" for number in range(9)])
        assert sorted(board.told(9)) == [(number, ()) for number in range(1, 10)]
        assert board.stream.goodbye().reason == ext.Goodbye.OVERLOADED
        wait(lambda: cause_of(board.service) == ("PAUSED", "predicates"))


@pytest.mark.remuda_rule("EXT-10", "EXT-18")
def test_questions_die_with_their_stream_long_before_their_budget(board: Board) -> None:
    board.register(item("n1", "v1"), item("n2", start=-1), features=BOTH, max_calls=2)
    board.stream.ask("a", "b")
    board.call()
    board.stream.cut()
    assert sorted(board.told(2)) == [(1, ()), (2, ())]


@pytest.mark.remuda_rule("EXT-10", "EXT-18")
def test_without_a_stream_nobody_is_asked(board: Board) -> None:
    board.register(item("n1", "v1"), item("n2", start=-1), features=BOTH)
    board.stream.cut()
    wait(lambda: not board.binding.carried)
    board.service.core.submit(asks("k"))
    assert board.told() == [(1, ())]


@pytest.mark.remuda_rule("EXT-5", "EXT-17")
def test_an_id_names_one_call_of_whatever_kind(board: Board) -> None:
    """A cancellation has nothing else to say which call it means."""
    board.register(features=(*VICTIMS, "state-dump"))
    board.binding.dump_source(5.0)
    dump = board.stream.until("state_dump").state_dump
    board.stream.ask("k")
    assert dump.call_id != board.call().call_id


# ---------------------------------------------------------------------- limits


@pytest.mark.remuda_rule("EXT-6")
def test_calls_about_nodes_and_victims_count_together(board: Board) -> None:
    board.register(item("n1", "v1"), item("n2", start=-1), features=BOTH, max_calls=1)
    board.stream.ask("a")
    victims = board.call()
    assert board.stream.silent()
    board.answer(victims, yes(0))
    nodes = board.stream.until("nodes_predicates").nodes_predicates
    board.stream.ask("b")
    board.stream.until("allocation")
    assert board.stream.silent()
    answer = ext.NodesPredicatesResult(
        call_id=nodes.call_id, applied_seq=board.stream.got, items=[refuses(1)]
    )
    board.stream.send(nodes_predicates=answer)
    assert board.told() == [(1, ((True, 0), (False, -1)))]
    assert board.call().items[0].allocationKey == "b"


@pytest.mark.remuda_rule("EXT-8", "EXT-18")
def test_a_question_too_long_for_a_frame_goes_in_several_calls(board: Board) -> None:
    size = 64 * 1024
    victims = [f"{number:0100}" for number in range(200)]
    board.register(*[item(f"n{n}", *victims) for n in range(7)], max_frame_bytes=size)
    board.stream.ask("k")
    calls: list[ext.PreemptionPredicates] = []
    while sum(len(call.items) for call in calls) < 7:
        frame = board.stream.until("preemption_predicates")
        assert len(frame.SerializeToString()) <= size
        calls.append(frame.preemption_predicates)
    assert len(calls) == 3
    for call in reversed(calls):
        board.answer(call, *[yes(int(each.nodeID[1:])) for each in call.items])
    assert board.told() == [(1, tuple((True, number) for number in range(7)))]


@pytest.mark.remuda_rule("EXT-8", "EXT-18")
def test_victims_that_do_not_fit_a_frame_are_left_out_from_the_end(board: Board) -> None:
    many = [f"{number:01000}" for number in range(70)]
    board.register(
        item("n1", *many, start=3), item("n2", *many, start=69), max_frame_bytes=64 * 1024
    )
    board.stream.ask("k")
    frame = board.stream.until("preemption_predicates")
    assert len(frame.SerializeToString()) <= 64 * 1024
    (only,) = frame.preemption_predicates.items
    sent = list(only.preemptAllocationKeys)
    assert sent == many[: len(sent)]
    assert 60 < len(sent) < 66
    board.answer(frame.preemption_predicates, yes(len(sent)))
    board.stream.ask("l")
    board.answer(board.call(), yes(len(sent) - 1))
    # Beyond what was sent there is no index; and n2 would need all, which fit no frame.
    assert board.told(2) == [
        (1, ((False, -1), (False, -1))),
        (2, ((True, len(sent) - 1), (False, -1))),
    ]


# ---------------------------------------------------------------------- attached sessions


@pytest.mark.remuda_rule("EXT-12", "EXT-18")
def test_an_attached_session_is_asked_about_victims_until_it_is_over(board: Board) -> None:
    board.service.register("rm")
    hello = board.stream.hello(attach=ext.Attach(rm_id="rm"), features=["preemption-predicates"])
    assert hello.HasField("welcome")
    assert board.handled(BindPredicates, 2) == [
        BindPredicates("rm", predicates=False),
        BindPredicates("rm", predicates=False, preemption=True),
    ]
    stream = board.service.allocations("rm")
    stream.send(ask_request("k"))
    assert stream.receive().new[0].allocationKey == "k"
    board.answer(board.call(), NO, yes(0))
    assert board.told() == [(1, ((False, -1), (True, 0)))]
    other = SessionStream(board.service.channel)
    assert other.hello(attach=ext.Attach(rm_id="rm"), features=[]).HasField("welcome")
    assert board.handled(BindPredicates, 3)[2] == BindPredicates("rm", predicates=False)
    other.cut()
    stream.cancel()


# ---------------------------------------------------------------------- the client


class Careful:
    """Says no to n1, errs about n2, says something else about n3, and takes n4."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str, tuple[str, ...], int]] = []

    def preemption_predicates(self, args: si.PreemptionPredicatesArgs) -> object:
        victims = tuple(args.preemptAllocationKeys)
        self.asked.append((args.allocationKey, args.nodeID, victims, args.startIndex))
        if args.nodeID == "n2":
            raise ValueError("no such node")
        return {"n1": NO, "n3": "yes", "n4": yes(1)}[args.nodeID]


class Both(Careful):
    """Knows about nodes, too."""

    def predicates(self, args: si.PredicatesArgs) -> None:
        if (args.nodeID, args.allocate) != ("n6", True):
            raise ValueError("not there")


@pytest.mark.remuda_rule("EXT-18", "EXT-20", "SI-81", "PRE-27")
def test_the_client_asks_its_callback_about_victims(board: Board) -> None:
    careful = Careful()
    with SessionClient(board.service.address, "rm", careful) as client:
        assert "preemption-predicates" in client.register().features
        board.scheduler.items = tuple([item(f"n{n}", "v1", "v2") for n in range(1, 5)])
        client.update_allocation(ask_request("k"))
        assert board.told() == [(1, ((False, -1), (False, -1), (False, -1), (True, 1)))]
    assert careful.asked == [("k", f"n{n}", ("v1", "v2"), 0) for n in range(1, 5)]


@pytest.mark.remuda_rule("PRE-26", "SI-81")
def test_the_client_asks_its_callback_about_nodes_where_nobody_has_to_go(board: Board) -> None:
    careful = Both()
    with SessionClient(board.service.address, "rm", careful) as client:
        client.register()
        board.scheduler.items = (item("n5", start=-1), item("n4", "v1", "v2"), item("n6", start=-1))
        client.update_allocation(ask_request("k"))
        assert board.told() == [(1, ((False, -1), (True, 1), (True, -1)))]
    assert [node_id for _, node_id, _, _ in careful.asked] == ["n4"]


@pytest.mark.remuda_rule("EXT-18", "SI-81")
def test_the_client_asks_about_nodes_also_where_the_call_is_about_victims() -> None:
    """So does a scheduler that makes no difference between the two."""
    nobody = si.PreemptionPredicatesArgs(allocationKey="k", nodeID="n5", startIndex=-1)
    room = si.PreemptionPredicatesArgs(allocationKey="k", nodeID="n6", startIndex=-1)
    some = si.PreemptionPredicatesArgs(
        allocationKey="k", nodeID="n4", preemptAllocationKeys=["v1", "v2"]
    )
    items = [nobody, room, some]
    call = ext.PreemptionPredicates(call_id=7, items=items)
    result = Judge(Both()).about_victims(call)
    assert result == ext.PreemptionPredicatesResult(call_id=7, items=[NO, yes(-1), yes(1)])
    call.first_success = True
    assert list(Judge(Both()).about_victims(call).items) == [NO, yes(-1)]
    # Who has no member for victims agrees to any.
    assert list(Judge(object()).about_victims(call).items) == [yes(-1)]
    call.first_success = False
    assert list(Judge(object()).about_victims(call).items) == [yes(-1), yes(-1), yes(0)]
