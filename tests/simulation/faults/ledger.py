"""What the ledger of the witness holds: one allocation as the messages describe it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from remuda.base.resources import Resource
from remuda.core.messages import commands as c
from remuda.core.messages.tags import EXECUTION_TIMEOUT

# RM, partition, and the name of a node or of an application.
Name: TypeAlias = tuple[str, str, str]

# RM, partition, application, identity.
Identity: TypeAlias = tuple[str, str, str, str]


@dataclass
class Held:
    """One allocation as the core has it.

    ``limited``: it has an execution timeout of its own. ``ordered``: why the RM was told to end it.
    """

    node: str
    resource: Resource
    placeholder: bool
    key: str
    group: str
    limited: bool
    ordered: int = 0
    ordered_at: int = 0


def held_as(ask: c.Ask, node: str) -> Held:
    """An allocation of an ask."""
    limited = ask.execution_timeout_ms > 0 or EXECUTION_TIMEOUT in ask.tags
    return Held(node, ask.resource, ask.placeholder, ask.allocation_key, ask.task_group, limited)


def home_of(update: c.NodeUpdate) -> str:
    """The partition of a node."""
    return update.attributes.get("si/node-partition", "") or "default"
