"""Short numbers for nodes, so that a call about a thousand of them is a few kilobytes (EXT-19)."""

from __future__ import annotations

from collections.abc import Iterable

from remuda.si.pb import extension_pb2 as ext


class Handles:
    """The handles of one session. Each is given once, also if its node goes. Rules: EXT-19."""

    def __init__(self) -> None:
        self._known: dict[str, int] = {}
        self._removed: list[int] = []
        self._last = 0

    def table_for(self, node_ids: Iterable[str]) -> ext.NodeTable | None:
        """Return the table that the RM needs before these nodes are named, None if it has all."""
        table = ext.NodeTable(removed=self._removed)
        for node_id in node_ids:
            if node_id not in self._known:
                self._last += 1
                self._known[node_id] = self._last
                table.added[self._last] = node_id
        self._removed = []
        return table if table.added or table.removed else None

    def of(self, node_ids: Iterable[str]) -> list[int]:
        """Return the handles of nodes that were in a table."""
        return [self._known[node_id] for node_id in node_ids]

    def forget(self, node_id: str) -> None:
        """A node is gone; the RM is told with the next table. A later one gets another handle."""
        handle = self._known.pop(node_id, None)
        if handle is not None:
            self._removed.append(handle)
