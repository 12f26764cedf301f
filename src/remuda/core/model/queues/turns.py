"""The order in which the applications of a StateAware leaf may start (rules: QUE-41)."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from remuda.core.model.ranking import Ranking

if TYPE_CHECKING:
    from remuda.core.model.applications.application import Application


@final
class Turns:
    """The applications in Accepted with something pending, oldest first, of one leaf.

    ``starting``: how many applications of the leaf are in Starting; while one is, no application
    has the turn. ``holder``: the application that has the turn, None if none has. Change: O(log n).
    Implements: QUE-41.
    """

    __slots__ = ("_members", "_order", "holder", "starting")

    def __init__(self) -> None:
        self._order = Ranking()
        self._members: dict[int, Application] = {}
        self.starting: int = 0
        self.holder: Application | None = None

    def put(self, application: Application) -> None:
        """Add an application that waits for its turn, or note its new submission time."""
        self._members[application.number] = application
        self._order.put((application.submitted_ns, application.number))

    def drop(self, application: Application) -> None:
        """Remove an application, if it is listed."""
        self._members.pop(application.number, None)
        self._order.drop(application.number)

    def clear(self) -> None:
        """Remove all applications and the holder."""
        self._order = Ranking()
        self._members = {}
        self.holder = None

    def next(self) -> Application | None:
        """Return the application that should have the turn now, None if none should."""
        if self.starting or not self._members:
            return None
        return self._members[self._order.first()]
