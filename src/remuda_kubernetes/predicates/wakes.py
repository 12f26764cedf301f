"""What a change may help: classes of waiting pods, and nodes, to be asked about again.

A filter that refused a class is remembered with what it looked at. A later change there, and only
there, lets the class be judged again.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final


@dataclass(frozen=True, slots=True)
class Woken:
    """Classes that may fit on any node now, and nodes that may accept any class now."""

    classes: frozenset[str]
    nodes: frozenset[str]


_NOTHING: Final = Woken(frozenset(), frozenset())


@dataclass(slots=True)
class Wakes:
    """Collects what changes may help.

    ``quiet``: changes are tried only and will be taken back, so nothing is noted. ``refusing``:
    filter -> how many classes it refused since they were last woken.
    """

    classes: set[str] = field(default_factory=set)
    nodes: set[str] = field(default_factory=set)
    refusing: dict[int, int] = field(default_factory=dict)
    quiet: bool = False

    def wake_class(self, name: str) -> None:
        """Note that a class may fit somewhere."""
        if not self.quiet:
            self.classes.add(name)

    def wake_node(self, name: str) -> None:
        """Note that a node may accept something."""
        if not self.quiet:
            self.nodes.add(name)

    def wake_node_for(self, name: str, filters: int) -> None:
        """Note that a node may accept what some filters (bits) refused, if they refused any."""
        if not self.quiet and any(each & filters for each in self.refusing):
            self.nodes.add(name)

    def note(self, refused_by: int, filter_bit: int) -> int:
        """Count that a filter refused a class. Returns all filters that refused it."""
        if not refused_by & filter_bit:
            self.refusing[filter_bit] = self.refusing.get(filter_bit, 0) + 1
        return refused_by | filter_bit

    def forget(self, refused_by: int) -> None:
        """Count the refusals of a class no longer."""
        for each in [each for each in self.refusing if each & refused_by]:
            self.refusing[each] -= 1
            if not self.refusing[each]:
                del self.refusing[each]

    def take(self) -> Woken:
        """Return what was noted since the last call."""
        if not self.classes and not self.nodes:
            return _NOTHING
        taken = Woken(frozenset(self.classes), frozenset(self.nodes))
        self.classes.clear()
        self.nodes.clear()
        return taken
