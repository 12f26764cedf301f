"""An allocation: a part of an ask that sits on a node."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from remuda.core.messages.commands import Ask
from remuda.core.model.vectors import Amounts

if TYPE_CHECKING:
    from remuda.core.model.application import Application
    from remuda.core.model.candidates import Kind
    from remuda.core.model.deadlines import Deadline
    from remuda.core.model.node import Node
    from remuda.core.model.preemption import Preemption


@final
class Allocation:
    """One placed part of an ask (SI-35, REST-80). Times are Unix nanoseconds.

    ``ordered``: why the RM was told to end it, a TerminationType, 0 if it was not (SI-69);
    ``order`` is the timer that repeats that,
    ``repeated`` whether it was. ``replaces``: the placeholder whose place it waits
    for, in flight (GANG-14). ``placeholder_ns``: when the placeholder it replaced was allocated, 0
    if it replaced none (GANG-17). ``preemption``: whose victim it is, None if it is none (PRE-34).
    ``kind``: its place in the index of candidates, None if it is not in.
    """

    __slots__ = (
        "allocation_id",
        "amounts",
        "application",
        "ask",
        "created_ns",
        "kind",
        "node",
        "order",
        "ordered",
        "placeholder_ns",
        "preemption",
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
        self.ordered: int = 0
        self.order: Deadline | None = None
        self.repeated: bool = False
        self.replaces: Allocation | None = None
        self.placeholder_ns: int = 0
        self.preemption: Preemption | None = None
        self.kind: Kind | None = None

    def key(self) -> tuple[int, str]:
        """Return what identifies it within the partition."""
        return (self.application.number, self.allocation_id)
