"""Which application of a StateAware leaf may start next (rules: QUE-41)."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from remuda.core.model.ranking import Ranking

if TYPE_CHECKING:
    from remuda.core.model.application import Application


@final
class Turns:
    """The applications in Accepted with something pending, oldest first, of one leaf.

    ``starting``: applications of the leaf in Starting; while there is one nobody has the turn.
    ``holder``: who has it, None for nobody. Change: O(log n). Rules: QUE-41.
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
        """Take an application out; one that is not in is fine."""
        self._members.pop(application.number, None)
        self._order.drop(application.number)

    def clear(self) -> None:
        """Forget who waits, and who has the turn."""
        self._order = Ranking()
        self._members = {}
        self.holder = None

    def next(self) -> Application | None:
        """Return who should have the turn now."""
        if self.starting or not self._members:
            return None
        return self._members[self._order.first()]
