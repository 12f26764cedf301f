"""An allocation: a part of an ask that sits on a node."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from remuda.core.messages.commands import Ask
from remuda.core.model.vectors import Amounts

if TYPE_CHECKING:
    from remuda.core.model.application import Application
    from remuda.core.model.node import Node


@final
class Allocation:
    """One placed part of an ask (SI-35, REST-80). Times are Unix nanoseconds."""

    __slots__ = (
        "allocation_id",
        "amounts",
        "application",
        "ask",
        "created_ns",
        "node",
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

    def key(self) -> tuple[int, str]:
        """Return what identifies it within the partition."""
        return (self.application.number, self.allocation_id)
