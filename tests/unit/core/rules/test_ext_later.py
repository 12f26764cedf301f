"""Predicates that are answered later: class queues wait for their verdicts, in their order."""

from __future__ import annotations

import pytest

from remuda.config.schema import Configuration
from remuda.core.messages import commands as c
from remuda.core.messages import events as ev
from tests.unit.core.door import REQUIRED_NODE, SECOND, leaf, parent, partition, users
from tests.unit.core.rules.distant import Distant, placed


@pytest.fixture
def rm() -> Distant:
    return Distant()


# ---------------------------------------------------------------------- one question


@pytest.mark.remuda_rule("EXT-14")
def test_nothing_is_decided_told_or_logged_before_the_answer(rm: Distant) -> None:
    rm.ask("app", "k", {"vcore": 1})
    assert rm.run() == []
    assert [(q.allocation_key, q.node_ids, q.allocate) for q in rm.asked] == [
        ("k", ("n1", "n2"), True)
    ]
    assert rm.log("k") == []
    assert rm.run(SECOND) == []
    assert len(rm.asked) == 1


@pytest.mark.remuda_rule("EXT-14", "SI-80")
def test_the_first_node_that_passed_is_taken(rm: Distant) -> None:
    rm.want("k")
    verdict = c.PredicateVerdict(1, passed=("n2",), refused=(("n1", "tainted"),))
    assert placed(rm.answer(verdict)) == [("k-0", "n2")]
    assert len(rm.asked) == 1


@pytest.mark.remuda_rule("SI-80", "CYC-16", "EVT-44")
def test_refusals_everywhere_are_logged_and_told_when_they_are_known(rm: Distant) -> None:
    rm.want("k")
    effects = rm.refuse(1)
    assert placed(effects) == []
    assert rm.log("k") == [("tainted", 2)]
    told = [x for x in effects if getattr(x, "kind", None) == ev.REQUEST]
    assert [getattr(each, "message", "") for each in told] == [
        "Unschedulable request 'k': tainted (2x); "
    ]
    assert placed(rm.run(SECOND - 1)) == []
    assert len(rm.asked) == 1


@pytest.mark.remuda_rule("NOD-13", "SI-80")
def test_a_refusal_lasts_until_the_next_request(rm: Distant) -> None:
    rm.want("k")
    rm.refuse(1)
    rm.send(c.UpdateNodes(rm.rm))
    rm.run()
    assert len(rm.asked) == 2
    assert placed(rm.accept(2)) == [("k-0", "n1")]


@pytest.mark.remuda_rule("EXT-14", "EXT-13")
def test_windows_grow_until_a_node_passes() -> None:
    rm = Distant(nodes=100)
    rm.want("k")
    assert len(rm.asked[0].node_ids) == 16
    rm.refuse(1)
    assert len(rm.asked[1].node_ids) == 64
    rm.refuse(2)
    assert len(rm.asked[2].node_ids) == 20
    asked = [node_id for question in rm.asked for node_id in question.node_ids]
    assert len(asked) == len(set(asked)) == 100
    last = rm.asked[2].node_ids[7]
    passed = c.PredicateVerdict(
        3, passed=(last,), refused=tuple((n, "no") for n in rm.asked[2].node_ids[:7])
    )
    assert placed(rm.answer(passed)) == [("k-0", last)]
    assert len(rm.asked) == 3


@pytest.mark.remuda_rule("EXT-13")
def test_a_question_may_be_put_in_parts_and_the_rest_follows() -> None:
    rm = Distant(nodes=5, most=2)
    rm.want("k")
    first = rm.asked[0].node_ids
    refused = tuple((node_id, "no") for node_id in first[:2])
    rm.answer(c.PredicateVerdict(1, refused=refused))
    assert rm.asked[1].node_ids == first[2:]
    assert placed(rm.answer(c.PredicateVerdict(2, passed=(first[2],)))) == [("k-0", first[2])]


@pytest.mark.remuda_rule("EXT-13")
def test_an_ask_for_several_says_how_many_nodes_are_of_use() -> None:
    rm = Distant(nodes=3)
    rm.want("k", count=5)
    assert rm.asked[0].want == 3
    rm.accept(1)
    assert [len(rm.asked), rm.asked[1].want] == [2, 2]


@pytest.mark.remuda_rule("EXT-13", "EXT-14")
def test_the_first_candidates_of_those_who_wait_together_differ() -> None:
    rm = Distant(nodes=4)
    rm.want("a", "b", "c", "d")
    assert [question.node_ids[0] for question in rm.asked] == ["n1", "n2", "n3", "n4"]
    assert [question.want for question in rm.asked] == [1, 1, 1, 1]
    first_fit = [
        c.PredicateVerdict(ticket, passed=question.node_ids[:1])
        for ticket, question in rm.open.items()
    ]
    found = placed(rm.answer(*first_fit))
    assert found == [("a-0", "n1"), ("b-0", "n2"), ("c-0", "n3"), ("d-0", "n4")]
    assert len(rm.asked) == 4


@pytest.mark.remuda_rule("EXT-13", "EXT-14")
def test_whoever_is_behind_a_refused_ask_names_the_same_nodes_from_then_on() -> None:
    rm = Distant(nodes=4)
    rm.want("a", "b")
    refused = c.PredicateVerdict(1, passed=("n2",), refused=(("n1", "tainted"),))
    assert placed(rm.answer(refused, c.PredicateVerdict(2, passed=("n2",)))) == [("a-0", "n2")]
    assert rm.asked[2].node_ids[0] == "n1"  # what the one before did not take
    rm.want("c", "d")
    assert [(q.node_ids[0], q.want) for q in rm.asked[3:]] == [("n1", 2), ("n1", 3)]


@pytest.mark.remuda_rule("EXT-15", "EXT-13")
def test_equal_asks_of_a_class_are_asked_about_once() -> None:
    rm = Distant(leaf("a"), leaf("b"), nodes=100)
    rm.app("other", "root.b")
    asks = [
        c.Ask(app, f"{app}{number}", {"vcore": 1}, equivalence="class")
        for number in range(30)
        for app in ("app", "other")
    ]
    rm.send(c.UpdateAllocations(rm.rm, asks=tuple(asks)))
    rm.run()
    assert [(len(q.node_ids), q.want, q.equivalence) for q in rm.asked] == [(16, 16, "class")]
    found = placed(rm.accept(1))
    assert len(found) == 16
    assert [q.want for q in rm.asked[1:]] == [22]  # of 60 asks 44 are left, 22 in each leaf
    found += placed(rm.accept(2))
    assert len(found) == 38
    while rm.open:
        found += placed(rm.accept(max(rm.open)))
    assert len(found) == 60
    assert sum(len(q.node_ids) for q in rm.asked) <= 3 * 60


@pytest.mark.remuda_rule("EXT-13", "EXT-14")
def test_classes_that_take_turns_are_asked_about_few_times() -> None:
    queues, classes, each = 10, 20, 50
    rm = Distant(*[leaf(f"q{number}") for number in range(queues)], nodes=500)
    asks = []
    for number in range(classes):
        application = f"app-{number}"
        rm.app(application, f"root.q{number % queues}")
        asks += [
            c.Ask(application, f"{application}-{key}", {"vcore": 1}, equivalence=application)
            for key in range(each)
        ]
    rm.send(c.UpdateAllocations(rm.rm, asks=tuple(asks)))
    found = placed(rm.run())
    verdicts = 0
    while rm.open:
        ticket, question = next(iter(rm.open.items()))
        passed = question.node_ids[: question.want]
        verdicts += len(passed)
        found += placed(rm.answer(c.PredicateVerdict(ticket, passed=passed)))
    assert len(found) == classes * each
    assert len(rm.asked) <= 5 * classes
    assert verdicts <= 2 * queues * len(found)


@pytest.mark.remuda_rule("EXT-15", "SI-10")
def test_a_request_that_only_asks_lets_nobody_be_asked_again(rm: Distant) -> None:
    rm.want("k")
    rm.refuse(1)
    rm.want("large", count=1, priority=-1)
    assert [q.allocation_key for q in rm.asked] == ["k", "large"]


@pytest.mark.remuda_rule("EXT-5", "EXT-13")
def test_other_verdicts_stand_when_one_node_is_used() -> None:
    rm = Distant(nodes=3)
    rm.want("k", count=3)
    assert placed(rm.accept(1)) == [("k-0", "n1"), ("k-1", "n2"), ("k-2", "n3")]
    assert len(rm.asked) == 1


# ---------------------------------------------------------------------- the order of asks


@pytest.mark.remuda_rule("EXT-14", "EXT-6")
def test_several_questions_are_open_at_once(rm: Distant) -> None:
    rm.want("a", "b", "c")
    assert [rm.key_of(ticket) for ticket in (1, 2, 3)] == ["a", "b", "c"]


@pytest.mark.remuda_rule("EXT-14", "QUE-44")
def test_who_was_answered_first_waits_for_those_before_him(rm: Distant) -> None:
    rm.want("a", "b")
    assert placed(rm.accept(2)) == []
    effects = rm.answer(
        c.PredicateVerdict(1, passed=("n2",), refused=(("n1", "no"),)),
    )
    assert placed(effects) == [("a-0", "n2"), ("b-0", "n1")]


@pytest.mark.remuda_rule("EXT-5", "EXT-14")
def test_a_node_that_an_earlier_ask_took_is_asked_about_again(rm: Distant) -> None:
    rm.want("a", "b")
    only = [c.PredicateVerdict(each, passed=("n1",), refused=(("n2", "no"),)) for each in (1, 2)]
    assert placed(rm.answer(*only)) == [("a-0", "n1")]
    assert [(q.allocation_key, q.node_ids) for q in rm.asked[2:]] == [("b", ("n1",))]
    assert placed(rm.accept(3)) == [("b-0", "n1")]


@pytest.mark.remuda_rule("EXT-14", "CYC-5")
def test_only_so_many_class_queues_look_ahead() -> None:
    rm = Distant()
    rm.want(*[f"k{number:03}" for number in range(100)])
    assert len(rm.asked) == 64
    assert placed(rm.accept(*range(1, 65)))[0] == ("k000-0", "n1")


@pytest.mark.remuda_rule("EXT-14")
def test_an_ask_that_comes_while_others_wait_is_asked_about_at_once(rm: Distant) -> None:
    rm.want("low")
    rm.want("high", priority=10)
    assert rm.key_of(2) == "high"
    assert placed(rm.accept(1)) == []
    assert placed(rm.accept(2)) == [("high-0", "n1"), ("low-0", "n2")]


@pytest.mark.remuda_rule("EXT-14", "CYC-12")
def test_what_a_limit_stops_is_not_asked_about() -> None:
    rm = Distant(leaf("a", maximum={"vcore": 1}))
    rm.want("k")
    rm.ask("app", "large", {"vcore": 2})
    rm.run()
    assert [q.allocation_key for q in rm.asked] == ["k"]
    assert placed(rm.accept(1)) == [("k-0", "n1")]


@pytest.mark.remuda_rule("EXT-14", "LIM-54")
def test_the_limit_of_a_user_may_come_between_question_and_answer() -> None:
    limit = users("ann", {"vcore": 1})
    rm = Distant(parent("p", leaf("a"), limits=(limit,)), nodes=3)
    rm.app("mine", "root.p.a")
    rm.ask("mine", "a", {"vcore": 1})
    rm.ask("mine", "b", {"vcore": 1}, priority=-1)
    rm.run()
    assert [q.allocation_key for q in rm.asked] == ["a", "b"]
    assert placed(rm.accept(1, 2)) == [("a-0", "n1")]
    rm.release("mine", "a-0")
    rm.run()
    assert [q.allocation_key for q in rm.asked[2:]] == ["b"]
    assert placed(rm.accept(3)) == [("b-0", "n1")]


# ---------------------------------------------------------------------- what changes meanwhile


@pytest.mark.remuda_rule("EXT-5")
@pytest.mark.parametrize(
    "change",
    [
        lambda rm: rm.node("n1", action=c.UPDATE, attributes={"label": "new"}),
        lambda rm: rm.existing("app", "other", "n1", {"vcore": 1}),
        lambda rm: rm.release("app", "running"),
    ],
)
def test_a_verdict_on_a_node_that_changed_meanwhile_is_void(change: object) -> None:
    rm = Distant()
    rm.existing("app", "running", "n1", {"vcore": 1})
    rm.existing("app", "more", "n2", {"vcore": 2})
    rm.want("k")
    assert callable(change)
    change(rm)
    rm.run()
    assert len(rm.asked) == 1
    assert placed(rm.accept(1)) == []
    assert [q.node_ids for q in rm.asked[1:]] == [("n1",)]
    assert placed(rm.accept(2)) == [("k-0", "n1")]


@pytest.mark.remuda_rule("EXT-5")
def test_a_verdict_said_to_be_void_is_asked_for_again(rm: Distant) -> None:
    rm.want("k")
    assert placed(rm.answer(c.PredicateVerdict(1, passed=("n2",), void=("n1",)))) == []
    assert rm.asked[1].node_ids == ("n1",)
    refused = c.PredicateVerdict(2, refused=(("n1", "no"),))
    assert placed(rm.answer(refused)) == [("k-0", "n2")]


@pytest.mark.remuda_rule("EXT-5", "EXT-14")
def test_an_ask_that_is_gone_needs_no_answer(rm: Distant) -> None:
    rm.want("a", "b")
    rm.release_ask("app", "a")
    rm.run()
    assert placed(rm.accept(2)) == [("b-0", "n1")]
    assert placed(rm.accept(1)) == []


@pytest.mark.remuda_rule("EXT-14")
def test_those_behind_an_ask_that_is_gone_go_on_with_the_next_answer(rm: Distant) -> None:
    rm.want("a", "b")
    rm.accept(2)
    rm.release_ask("app", "a")
    assert placed(rm.run() + rm.silence(1)) == [("b-0", "n1")]


@pytest.mark.remuda_rule("EXT-5", "SI-33")
def test_a_changed_ask_is_asked_about_again(rm: Distant) -> None:
    rm.want("k")
    rm.want("k", tags={"volume": "v1"})
    assert len(rm.asked) == 2
    assert placed(rm.accept(1)) == []
    assert placed(rm.accept(2)) == [("k-0", "n1")]


@pytest.mark.remuda_rule("EXT-5")
def test_a_node_that_left_is_not_used(rm: Distant) -> None:
    rm.want("k")
    rm.node("n1", action=c.DECOMISSION)
    assert placed(rm.accept(1)) == [("k-0", "n2")]


@pytest.mark.remuda_rule("EXT-14")
def test_a_new_node_is_asked_about_when_it_is_the_better_one(rm: Distant) -> None:
    rm.want("k")
    rm.node("n0", {"vcore": 100})
    rm.accept(1)
    order = [q.node_ids for q in rm.asked]
    assert order == [("n1", "n2"), ("n0",)]
    assert placed(rm.accept(2)) == [("k-0", "n0")]


@pytest.mark.remuda_rule("EXT-10")
def test_an_answer_to_nothing_does_nothing(rm: Distant) -> None:
    assert rm.answer(c.PredicateVerdict(77, passed=("n1",)), c.PredicateVerdict(0)) == []


# ---------------------------------------------------------------------- no answer


@pytest.mark.remuda_rule("EXT-17")
def test_without_an_answer_an_ask_is_left_alone_for_a_second_in_silence(rm: Distant) -> None:
    rm.want("k")
    assert rm.silence(1) == []
    assert rm.log("k") == []
    assert rm.run(SECOND - 1) == []
    assert len(rm.asked) == 1
    assert rm.run(1) == []
    assert rm.asked[1].node_ids == ("n1", "n2")
    assert placed(rm.accept(2)) == [("k-0", "n1")]


@pytest.mark.remuda_rule("EXT-17")
def test_a_node_without_a_verdict_is_not_used(rm: Distant) -> None:
    rm.want("k")
    assert placed(rm.answer(c.PredicateVerdict(1, passed=("n2",)))) == [("k-0", "n2")]


@pytest.mark.remuda_rule("EXT-17")
def test_refusals_are_not_told_when_some_nodes_got_no_verdict(rm: Distant) -> None:
    rm.want("k")
    assert rm.answer(c.PredicateVerdict(1, refused=(("n1", "tainted"),))) == []
    assert rm.log("k") == []
    rm.run(SECOND)
    assert rm.asked[1].node_ids == ("n1", "n2")


@pytest.mark.remuda_rule("EXT-17")
def test_an_ask_the_rm_does_not_know_is_skipped_for_a_second(rm: Distant) -> None:
    rm.want("gone", "k")
    effects = rm.answer(c.PredicateVerdict(1, unknown=True), c.PredicateVerdict(2, passed=("n1",)))
    assert placed(effects) == [("k-0", "n1")]
    rm.node("n3", {"vcore": 10})
    rm.send(c.UpdateNodes(rm.rm))
    assert rm.run(SECOND - 1) == []
    assert len(rm.asked) == 2
    rm.run(1)
    assert rm.key_of(3) == "gone"


@pytest.mark.remuda_rule("EXT-17")
def test_others_go_on_while_one_is_left_alone(rm: Distant) -> None:
    rm.want("a", "b")
    rm.accept(2)
    assert placed(rm.silence(1)) == [("b-0", "n1")]


@pytest.mark.remuda_rule("EXT-17", "RSV-3")
def test_nobody_reserves_because_there_was_no_answer(rm: Distant) -> None:
    rm.now += 10 * SECOND
    rm.ask("app", "k", {"vcore": 1})
    rm.run(3 * SECOND)
    rm.silence(1)
    assert [node.reservations for node in rm.node_views().values()] == [(), ()]


# ---------------------------------------------------------------------- reservations


@pytest.mark.remuda_rule("EXT-14", "RSV-3", "RSV-4")
def test_the_node_to_reserve_is_asked_about_too() -> None:
    rm = Distant(nodes=1)
    rm.existing("app", "running", "n1", {"vcore": 8})
    rm.node("n0", {"vcore": 100}, c.CREATE_DRAIN)
    rm.ask("app", "k", {"vcore": 5})
    rm.run()
    rm.run(2 * SECOND + 1)
    assert [(q.allocate, q.node_ids) for q in rm.asked] == [(False, ("n1",))]
    rm.accept(1)
    assert rm.node_view("n1").reservations == (("app", "k"),)
    rm.release("app", "running")
    rm.run()
    assert [(q.allocate, q.node_ids) for q in rm.asked[1:]] == [(True, ("n1",))]
    assert placed(rm.accept(2)) == [("k-0", "n1")]


@pytest.mark.remuda_rule("RSV-4", "EVT-40")
def test_a_node_that_may_not_be_reserved_is_told() -> None:
    rm = Distant(nodes=1)
    rm.existing("app", "running", "n1", {"vcore": 8})
    rm.node("n0", {"vcore": 100}, c.CREATE_DRAIN)
    rm.ask("app", "k", {"vcore": 5})
    rm.run()
    rm.run(2 * SECOND + 1)
    effects = rm.refuse(1)
    assert [getattr(x, "message", "") for x in effects if getattr(x, "kind", 0) == ev.REQUEST] == [
        "Predicate failed for request 'k' with message: 'tainted'"
    ]


@pytest.mark.remuda_rule("EXT-14", "CYC-14")
@pytest.mark.parametrize("accepted", [True, False])
def test_a_required_node_is_asked_about(accepted: bool) -> None:
    rm = Distant()
    rm.ask("app", "k", {"vcore": 1}, tags={REQUIRED_NODE: "n2"})
    rm.run()
    assert [(q.allocate, q.node_ids) for q in rm.asked] == [(True, ("n2",))]
    effects = rm.accept(1) if accepted else rm.refuse(1)
    assert placed(effects) == ([("k-0", "n2")] if accepted else [])
    assert rm.node_view("n2").reservations == (() if accepted else (("app", "k"),))


@pytest.mark.remuda_rule("EXT-17", "CYC-14")
def test_a_required_node_without_an_answer_is_not_reserved(rm: Distant) -> None:
    rm.ask("app", "k", {"vcore": 1}, tags={REQUIRED_NODE: "n2"})
    rm.run()
    rm.silence(1)
    assert rm.node_view("n2").reservations == ()
    rm.run(SECOND)
    assert placed(rm.accept(2)) == [("k-0", "n2")]


# ---------------------------------------------------------------------- beginning and end


@pytest.mark.remuda_rule("EXT-12", "SI-106")
def test_when_nobody_answers_any_more_every_node_is_acceptable(rm: Distant) -> None:
    rm.want("a", "b")
    rm.refuse(2)
    rm.send(c.BindPredicates(rm.rm, predicates=False))
    assert placed(rm.run()) == [("a-0", "n1"), ("b-0", "n2")]
    assert placed(rm.accept(1)) == []


@pytest.mark.remuda_rule("EXT-12")
def test_whoever_attaches_is_asked_from_then_on(rm: Distant) -> None:
    rm.send(c.BindPredicates(rm.rm, predicates=False))
    rm.want("small")
    rm.ask("app", "large", {"vcore": 11})
    rm.run()
    rm.send(c.BindPredicates(rm.rm, predicates=True))
    rm.want("k")
    rm.node("n3", {"vcore": 20})
    rm.run()
    assert sorted(q.allocation_key for q in rm.asked) == ["k", "large"]
    tickets = sorted(rm.open, key=rm.key_of)
    rm.accept(*tickets)
    assert rm.apps()["app"].requests == ()


@pytest.mark.remuda_rule("RM-9")
def test_a_new_registration_knows_nothing_of_old_questions(rm: Distant) -> None:
    rm.want("k")
    chosen = Configuration((partition(leaf("a")),))
    rm.send(c.RegisterResourceManager(rm.rm, chosen, predicates=True))
    assert rm.accept(1) == []
