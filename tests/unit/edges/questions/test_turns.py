"""Each caller has one question at a time that takes a copy."""

from __future__ import annotations

import asyncio

import pytest

from remuda.edges.questions.refusals import Cause, UnansweredError
from remuda.edges.questions.turns import Turns

pytestmark = pytest.mark.remuda_rule("EXT-66")


def test_questions_of_one_caller_are_answered_one_after_the_other() -> None:
    done: list[str] = []

    begun = asyncio.Event()

    async def question(turns: Turns, caller: str, name: str, go_on: asyncio.Event) -> None:
        async with turns.turn(caller):
            done.append(f"{name} begins")
            if len(done) > 1:
                begun.set()
            await go_on.wait()
            done.append(f"{name} ends")

    async def run() -> None:
        turns, first, second = Turns(), asyncio.Event(), asyncio.Event()
        async with asyncio.TaskGroup() as group:
            group.create_task(question(turns, "ann", "first", first))
            group.create_task(question(turns, "ann", "second", second))
            group.create_task(question(turns, "bob", "other", second))
            await begun.wait()
            assert done == ["first begins", "other begins"]
            first.set()
            second.set()

    asyncio.run(run())
    assert done.index("first ends") < done.index("second begins")


def test_a_question_that_waits_too_long_is_refused_and_the_next_one_is_not() -> None:
    async def run() -> None:
        turns = Turns(patience_seconds=0.01)
        async with turns.turn("ann"):
            with pytest.raises(UnansweredError, match="Another question of the caller") as refused:
                async with turns.turn("ann"):
                    raise AssertionError
            assert refused.value.cause is Cause.BUSY
        async with turns.turn("ann"):
            return

    asyncio.run(run())
