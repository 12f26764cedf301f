"""The end of the link to the scheduler."""

from __future__ import annotations

import asyncio
from typing import Any
from unittest import mock

import pytest

from remuda.base.errors import RemudaError
from remuda.si.pb import si_pb2 as si
from remuda_kubernetes.link import session
from remuda_kubernetes.link.session import SchedulerLink


class Client:
    """A session that ends at once."""

    def __init__(self, address: str, rm_id: str, callback: Any, **options: Any) -> None:
        self.callback = callback

    def close(self) -> None:
        """End."""


def test_a_question_at_the_end_is_refused_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    # The session waits for its answers when it is closed, so each wait delays the end.
    clients: list[Client] = []

    def client(*arguments: Any, **options: Any) -> Client:
        clients.append(Client(*arguments, **options))
        return clients[-1]

    monkeypatch.setattr(session, "SessionClient", client)

    async def end() -> None:
        loop = asyncio.get_running_loop()
        receiver: Any = mock.Mock()
        link = SchedulerLink(loop, "127.0.0.1:1", "rm", receiver, policy_group="", build={})
        await link.close()
        callback = clients[0].callback
        for ask in (
            lambda: callback.nodes_predicates([]),
            lambda: callback.preemption_predicates(si.PreemptionPredicatesArgs()),
            callback.get_state_dump,
        ):
            with pytest.raises(RemudaError, match="the shim ends"):
                await asyncio.to_thread(ask)
        assert receiver.mock_calls == []

    asyncio.run(end())
