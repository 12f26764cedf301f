"""The composition root when the scheduler itself fails."""

from __future__ import annotations

import pytest

import remuda.app
from remuda.app import Settings, run
from remuda.config.process_limits import Limits
from remuda.core.messages.commands import Command
from remuda.core.messages.effects import Effect
from remuda.core.messages.queries import Query, View
from remuda.core.ports import Predicates, PreemptionPredicates
from remuda.runtime.errors import LoopStoppedError


class BrokenScheduler:
    def __init__(
        self,
        predicates: Predicates,
        *,
        preemption: PreemptionPredicates,
        reservation_delay_ns: int | None,
        limits: Limits,
    ) -> None:
        pass

    def handle(self, command: Command, now_ns: int) -> list[Effect]:
        raise ArithmeticError("usage is negative\nsecond line")

    def step(self, now_ns: int, limit: int, *, timers: bool = True) -> list[Effect]:
        return []

    def next_deadline(self) -> int | None:
        return None

    def has_work(self) -> bool:
        return False

    def view(self, query: Query) -> View:
        return ()

    def check(self) -> None:
        pass


def test_a_fault_of_the_core_ends_the_service_with_one_reason(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(remuda.app, "scheduler_factory", lambda environment: BrokenScheduler)
    monkeypatch.setattr(remuda.app, "tune_interpreter", lambda: None)
    settings = Settings(
        config=None,
        grpc_address=("127.0.0.1", 0),
        rest_address=("127.0.0.1", 0),
        rest_cors=True,
        demo=True,
        duration_seconds=30.0,
        record=None,
    )
    with pytest.raises(LoopStoppedError, match=r"ArithmeticError: usage is negative$"):
        run(settings)
    assert capsys.readouterr().out.startswith("listening grpc=127.0.0.1:")
