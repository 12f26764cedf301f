"""What the allocations of an application that ended have used, in amounts times seconds."""

from __future__ import annotations

from typing import final

from remuda.core.model.vectors import Vector


@final
class History:
    """By instance type of their nodes: the sums of what ended (RES-57).

    ``preempted``: of victims of preemption; ``placeholder``: of other placeholders; ``used``: of
    all others. Sums are exact; they are cut to 64 bits where they are shown.
    """

    __slots__ = ("placeholder", "preempted", "used")

    def __init__(self) -> None:
        self.used: dict[str, Vector] = {}
        self.preempted: dict[str, Vector] = {}
        self.placeholder: dict[str, Vector] = {}
