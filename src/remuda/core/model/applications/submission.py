"""An application that was submitted and has no queue yet: it is either placed or rejected."""

from __future__ import annotations

from typing import final

from remuda.core.messages.commands import NewApplication
from remuda.core.messages.tags import NODE_SORT_POLICY, application_tag


@final
class Submission:
    """An application before it is placed (chapter 70 section 4). Rules: SI-20, PLC-1."""

    __slots__ = (
        "node_policy",
        "number",
        "queue_path",
        "record",
        "submitted_ns",
        "user",
        "user_groups",
    )

    def __init__(self, number: int, record: NewApplication, submitted_ns: int) -> None:
        self.number = number  # Its arrival number, unique in the partition.
        self.record = record  # What its RM said when it submitted it, and when that was.
        self.submitted_ns = submitted_ns
        # The queue its RM asked for, then the one that placement found.
        self.queue_path: str = record.queue
        self.user: str = record.user  # Whom it belongs to (UGR-1).
        self.user_groups: tuple[str, ...] = record.groups
        # Its own order of nodes, "" the partition's (NOD-23).
        self.node_policy: str = application_tag(record.tags, NODE_SORT_POLICY)

    @property
    def application_id(self) -> str:
        """The ID the RM gave it."""
        return self.record.application_id
