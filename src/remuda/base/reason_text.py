"""Why an ask waits, in a few words."""

from __future__ import annotations


def reason_text(gate: str, subject: str) -> str:
    """Return the gate that stopped an ask when it was tried last, and the object there."""
    if gate == "nodes":
        return "room on a node"
    return f"{gate}: {subject}" if gate and subject else gate or "not tried yet"
