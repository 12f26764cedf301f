"""A fault of the state machine ends the shim: nothing is taken in or done after it."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Iterable
from typing import Any, cast

import pytest

from remuda.si.wire import Response
from remuda_kubernetes.api.calls import Calls
from remuda_kubernetes.api.errors import ApiError
from remuda_kubernetes.api.events import Events
from remuda_kubernetes.link.session import SchedulerLink
from remuda_kubernetes.objects.pods import Pod
from remuda_kubernetes.service import Service, ShimStoppedError
from remuda_kubernetes.shim.effects import DeletePod, Effect
from remuda_kubernetes.shim.shim import Shim
from remuda_kubernetes.translation.settings import Settings


class Faulty(Shim):
    """A state machine with a bug in how it takes in answers, each of which has it delete a pod."""

    def __init__(self, error: Exception) -> None:
        super().__init__(Settings(), "rm", "yunikorn")
        self.error = error
        self.taken = 0
        self.wanted: list[Effect] = []

    def synced(self) -> tuple[str, Settings]:
        return "rm", Settings()

    def take(self) -> list[Effect]:
        wanted, self.wanted = self.wanted, []
        return wanted

    def answered(self, responses: Iterable[Response]) -> None:
        self.taken += 1
        self.wanted = [DeletePod(2, Pod())]
        raise self.error


class FaultyCalls:
    """Calls to the API server, of which one raises what it never should."""

    def __init__(self, error: Exception | None) -> None:
        self.error = error
        self.made = 0

    async def delete_pod(self, *_: object, **__: object) -> Any:
        self.made += 1
        if self.error is not None:
            raise self.error
        await asyncio.Event().wait()


def service_of(shim: Shim, calls: FaultyCalls) -> Service:
    service = Service(shim, cast("Calls", calls), cast("Events", None))
    service.begin(lambda *_: cast("SchedulerLink", object()))
    return service


def test_a_fault_is_told_whole_once_and_nothing_happens_after_it(
    caplog: pytest.LogCaptureFixture,
) -> None:
    shim, calls = Faulty(KeyError("not there")), FaultyCalls(None)

    async def test() -> None:
        service = service_of(shim, calls)
        for _ in range(3):
            service.answered([])
        with pytest.raises(
            ShimStoppedError, match="stopped after a fault of the shim: KeyError: 'not there'"
        ):
            await asyncio.wait_for(service.watch_over(), 60)

    with caplog.at_level(logging.ERROR, "remuda.kubernetes"):
        asyncio.run(test())
    assert shim.taken == 1
    assert calls.made == 0
    (record,) = caplog.records
    assert record.exc_info is not None
    assert record.exc_info[0] is KeyError


def test_an_error_with_its_own_words_is_told_as_it_is() -> None:
    async def test() -> None:
        service = service_of(Faulty(ApiError("the server said no")), FaultyCalls(None))
        service.answered([])
        with pytest.raises(ApiError, match=r"^the server said no$"):
            await asyncio.wait_for(service.watch_over(), 60)

    asyncio.run(test())


def test_a_call_that_raises_is_the_end_too() -> None:
    async def test() -> None:
        shim, calls = Faulty(KeyError()), FaultyCalls(TypeError("a bug"))
        service = service_of(shim, calls)
        shim.wanted = [DeletePod(3, Pod())]
        service.lost("a test")
        with pytest.raises(ShimStoppedError, match="TypeError: a bug"):
            await asyncio.wait_for(service.watch_over(), 60)
        assert calls.made == 1
        service.answered([])
        assert shim.taken == 0

    asyncio.run(test())


class Due(Faulty):
    """A state machine that has something to do at a moment; ``done`` is set when it did."""

    def __init__(self, due_ns: int) -> None:
        super().__init__(KeyError())
        self.due: int | None = due_ns
        self.done = asyncio.Event()

    def tick(self, now_ns: int) -> None:
        if self.due is not None and now_ns >= self.due:
            self.due = None
            self.done.set()

    def due_ns(self) -> int | None:
        return self.due


def test_a_timer_that_comes_too_early_is_set_again(monkeypatch: pytest.MonkeyPatch) -> None:
    async def test() -> None:
        loop = asyncio.get_running_loop()
        call_later = loop.call_later
        # As an event loop does that counts in milliseconds.
        monkeypatch.setattr(
            loop, "call_later", lambda seconds, *what: call_later(seconds - 0.005, *what)
        )
        shim = Due(time.monotonic_ns() + 20_000_000)
        service_of(shim, FaultyCalls(None))
        await shim.done.wait()

    asyncio.run(asyncio.wait_for(test(), 60))


def test_the_timer_is_that_of_the_earliest_moment() -> None:
    async def test() -> None:
        shim = Due(time.monotonic_ns() + 3_600_000_000_000)
        service = service_of(shim, FaultyCalls(None))
        shim.due = time.monotonic_ns() + 1_000_000
        service.lost("a test")
        await shim.done.wait()

    asyncio.run(asyncio.wait_for(test(), 60))
