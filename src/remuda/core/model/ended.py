"""Applications that ended and are known for a while yet, of one kind: completed, or rejected."""

from __future__ import annotations

from collections import OrderedDict, deque
from typing import final

from remuda.core.messages.application_queries import ApplicationKey
from remuda.core.model.application import Application


@final
class Ended:
    """In the order in which they ended: the first goes first (APP-15).

    ``applications``: by arrival number, for one ID may end several times. ``keys``: of all of them,
    ready to be listed. ``latest``: the last that ended, by ID.
    """

    __slots__ = ("applications", "keys", "latest")

    def __init__(self) -> None:
        # Those that go are always the first, for which plain dictionaries would get slow.
        self.applications: dict[int, Application] = OrderedDict()
        self.keys: deque[ApplicationKey] = deque()
        self.latest: dict[str, Application] = {}

    def put(self, application: Application) -> None:
        """Add one that ends now. Rules: APP-15."""
        name = application.application_id
        self.applications[application.number] = application
        self.keys.append(((), name, application.number))
        self.latest[name] = application

    def first(self) -> Application:
        """Return the one that ended first. There must be one."""
        return next(iter(self.applications.values()))

    def drop_first(self) -> None:
        """Forget the one that ended first. Rules: APP-18."""
        _, name, number = self.keys.popleft()
        gone = self.applications.pop(number)
        if self.latest[name] is gone:
            del self.latest[name]
