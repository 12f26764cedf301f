"""What limits usage: a queue, or what one user or group may use in and below a queue.

Both stop asks for the same two reasons, an amount that is used up or a number of applications
that is reached, and both are what a stopped lane waits for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from remuda.core.model.vectors import Vector

if TYPE_CHECKING:
    from remuda.core.model.request import Lane


class Bound:
    """Two limits, what counts against them, and who waits.

    ``maximum`` None and ``max_applications`` 0: not limited. ``closed``: a type that ``maximum``
    does not name is refused, not unlimited (root, QUE-8). ``running``: applications counted.
    ``waiting``: lanes that ``maximum`` stopped, by shape number, then lane number; ``held``: lanes
    of applications that may not start, by lane number. Rules: QUE-5, QUE-22, LIM-1, LIM-2.
    """

    __slots__ = (
        "allocated",
        "closed",
        "held",
        "max_applications",
        "maximum",
        "running",
        "waiting",
    )

    def __init__(self) -> None:
        self.maximum: Vector | None = None
        self.max_applications: int = 0
        self.closed: bool = False
        self.allocated = Vector()
        self.running: int = 0
        self.waiting: dict[int, dict[int, Lane]] = {}
        self.held: dict[int, Lane] = {}

    def full(self) -> bool:
        """Whether one more application may not start. Rules: QUE-22, LIM-61."""
        return 0 < self.max_applications <= self.running
