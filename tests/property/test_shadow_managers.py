"""A shadow where several resource managers are, and where they judge nodes."""

from __future__ import annotations

import zlib
from collections import Counter

import pytest

from remuda.core.messages import commands as c
from remuda.core.ports import NodesAnswer, NodesQuestion, one_by_one
from remuda.insight.shadow.twin import Trial
from tests.property.shadow_views import allocations, state_of
from tests.property.shadowed import RM, Life, Primary, configuration, subject_of

ACTS = 250
OTHER = "other"
BOTH = (RM, OTHER)


def judged(question: NodesQuestion) -> NodesAnswer:
    """Refuse a third of all pairs of ask and node, always the same ones."""

    def refusal(node: str) -> str:
        return "unfit" if unfit(subject_of(question), node) else ""

    return one_by_one(question, refusal)


def unfit(subject: str, node: str) -> bool:
    """Whether an ask may not run on a node."""
    return zlib.crc32(f"{subject} {node}".encode()) % 3 == 0


class Later:
    """Resource managers that judge as ``judged`` does, after a while."""

    def __init__(self) -> None:
        self.open: dict[int, NodesQuestion] = {}
        self.heard = 0

    def __call__(self, question: NodesQuestion) -> NodesAnswer:
        """Leave a question open."""
        ticket = self.heard + len(self.open) + 1
        self.open[ticket] = question
        return NodesAnswer(-1, ticket=ticket, asked=len(question.node_ids))

    def answer(self, primary: Primary, count: int) -> None:
        """Give the verdicts on the oldest questions."""
        for ticket in list(self.open)[:count]:
            question = self.open.pop(ticket)
            self.heard += 1
            subject = subject_of(question)
            refused = [node for node in question.node_ids if unfit(subject, node)]
            verdict = c.PredicateVerdict(
                ticket,
                passed=tuple([node for node in question.node_ids if node not in refused]),
                refused=tuple([(node, "unfit") for node in refused]),
            )
            primary.send(c.PredicateVerdicts(question.rm_id, (verdict,)))
            primary.step(1_000)


def lives_of(primary: Primary, seed: int) -> list[Life]:
    """What happens to both resource managers; names of one are names of the other, too."""
    return [Life(seed + number, primary, rm) for number, rm in enumerate(BOTH)]


def restart(lives: list[Life]) -> None:
    """A new process; both report what they have."""
    primary = lives[0].primary
    held = [allocations(primary.scheduler, life.rm) for life in lives]
    primary.begin()
    for life, each in zip(lives, held, strict=True):
        life.report(each)


@pytest.mark.remuda_rule("EXT-130")
@pytest.mark.remuda_rule("EXT-133")
@pytest.mark.parametrize("seed", range(6))
def test_the_same_configuration_gives_no_difference_with_managers_that_judge(seed: int) -> None:
    config = configuration()
    primary = Primary(config, Trial(config, RM), rms=BOTH, predicates=judged)
    lives = lives_of(primary, seed)
    for turn in range(ACTS):
        if turn % 100 == 99:
            restart(lives)
        for life in lives:
            life.act()
    assert primary.told == []
    twin = primary.twin
    assert twin is not None
    twin.scheduler.check()
    for rm in BOTH:
        assert state_of(twin.scheduler, rm) == state_of(primary.scheduler, rm)
        assert state_of(primary.scheduler, rm)
    assert len(primary.refused) > 20
    assert primary.result().decisions > 100


@pytest.mark.remuda_rule("EXT-130")
@pytest.mark.remuda_rule("EXT-133")
@pytest.mark.parametrize("seed", range(6))
def test_verdicts_that_come_later_give_no_difference_either(seed: int) -> None:
    config, later = configuration(), Later()
    primary = Primary(config, Trial(config, RM), rms=BOTH, predicates=later)
    lives = lives_of(primary, seed)
    for turn in range(ACTS):
        if turn % 100 == 99:
            later.answer(primary, len(later.open))
            restart(lives)
        for life in lives:
            life.act()
        later.answer(primary, (0, 1, 1_000)[turn % 3])
    assert primary.told == []
    assert primary.twin is not None
    primary.twin.scheduler.check()
    for rm in BOTH:
        assert state_of(primary.twin.scheduler, rm) == state_of(primary.scheduler, rm)
    assert later.heard > 50
    assert primary.result().decisions > 50


@pytest.mark.remuda_rule("EXT-128")
@pytest.mark.parametrize("seed", range(6))
def test_another_manager_decides_as_before(seed: int) -> None:
    primary = Primary(configuration(), Trial(configuration(7), RM), rms=BOTH)
    lives = lives_of(primary, seed)
    for turn in range(ACTS):
        if turn % 100 == 99:
            restart(lives)
            primary.rest()
        for life in lives:
            life.act()
            primary.rest()
    twin = primary.twin
    assert twin is not None
    twin.scheduler.check()
    assert state_of(twin.scheduler, OTHER) == state_of(primary.scheduler, OTHER)
    causes = Counter(each.rm_id for each in primary.told)
    assert set(causes) == {RM}


@pytest.mark.remuda_rule("EXT-130")
@pytest.mark.parametrize("classes", [0, 5])
@pytest.mark.parametrize("seed", range(4))
def test_no_ask_goes_where_its_manager_was_known_to_refuse_it(seed: int, classes: int) -> None:
    primary = Primary(configuration(), Trial(configuration(7)), predicates=judged)
    life = Life(seed, primary, classes=classes)
    twin = primary.twin
    assert twin is not None
    held: set[str] = set()
    placed = 0
    for _ in range(ACTS):
        refused = set(primary.refused)
        life.act()
        # A member of a gang takes a placeholder's place; that is another question.
        found = [
            each
            for each in allocations(twin.scheduler)
            if not each.placeholder and not each.application_id.startswith("gang")
        ]
        for each in found:
            if each.allocation_id not in held:
                placed += 1
                assert (life.subjects[each.allocation_key], each.node_id) not in refused
        held = {each.allocation_id for each in found}
    assert len(primary.refused) > 10
    assert placed > 30
    assert primary.told
