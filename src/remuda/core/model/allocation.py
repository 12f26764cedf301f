"""An allocation: a part of an ask that is placed on a node."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from remuda.core.messages.commands import Ask
from remuda.core.model.vectors import Amounts

if TYPE_CHECKING:
    from remuda.core.model.applications.application import Application
    from remuda.core.model.deadlines import Deadline
    from remuda.core.model.nodes.node import Node
    from remuda.core.model.preemption.candidates import Kind
    from remuda.core.model.preemption.live import Preemption


@final
class Allocation:
    """One placed part of an ask (SI-35, REST-80). Times are Unix nanoseconds.

    ``release_type``: the TerminationType of its release request, 0 without one (SI-69);
    ``release_timer``: the timer that repeats the request; ``repeated``: whether it was repeated.
    ``replaces``: the placeholder that it will replace, while it is in flight (GANG-14).
    ``placeholder_ns``: when the placeholder it replaced was allocated, 0 if it replaced none
    (GANG-17). ``preemption``: the preemption whose victim it is, None if it is no victim (PRE-34).
    ``kind``: its kind in the index of candidates, None if it is not a candidate.
    Rules: SI-35, REST-80, SI-69, GANG-14, GANG-17, PRE-34.
    """

    __slots__ = (
        "allocation_id",
        "amounts",
        "application",
        "ask",
        "created_ns",
        "kind",
        "node",
        "placeholder_ns",
        "preemption",
        "release_timer",
        "release_type",
        "repeated",
        "replaces",
        "requested_ns",
    )

    def __init__(
        self, allocation_id: str, ask: Ask, amounts: Amounts, application: Application, node: Node
    ) -> None:
        self.allocation_id = allocation_id
        self.ask = ask
        self.amounts = amounts
        self.application = application
        self.node = node
        self.requested_ns: int = 0
        self.created_ns: int = 0
        self.release_type: int = 0
        self.release_timer: Deadline | None = None
        self.repeated: bool = False
        self.replaces: Allocation | None = None
        self.placeholder_ns: int = 0
        self.preemption: Preemption | None = None
        self.kind: Kind | None = None

    def key(self) -> tuple[int, str]:
        """Return its key, unique within the partition."""
        return (self.application.number, self.allocation_id)
