"""Why an ask waits, in words: the gate that stops it, and what the last attempt found."""

from __future__ import annotations

from collections.abc import Iterator

from remuda.cli.viewing import amounts
from remuda.cli.viewing.columns import Row


def found(finding: Row) -> Iterator[str]:
    """Yield what an attempt found: amounts, and nodes by the reason why they do not take it."""
    asked, available = finding.get("requested"), finding.get("available")
    if asked or available:
        text = f"asked {amounts.amounts(asked)}, " if asked else ""
        yield f"{text}available {amounts.amounts(available)}"
    nodes = finding.get("nodes")
    if nodes:
        words = {"draining": "drain", "reserved": "are reserved", "tooSmall": "are too small"}
        words |= {"noRoom": "have no room", "refused": "are refused"}
        told = [f"{nodes[key]:,} {word}" for key, word in words.items() if nodes.get(key)]
        yield f"of {nodes.get('total') or 0:,} nodes: {', '.join(told) or 'none was tried'}"
        yield from (f"{number:,} x {text}" for text, number in (nodes.get("reasons") or {}).items())
    if finding.get("preemption"):
        yield f"no preemption: {finding['preemption']}"


def gate(each: Row) -> str:
    """Return the gate that stopped an ask when it was tried last, and the object there."""
    reason, subject = each.get("reason", ""), each.get("subject", "")
    if not reason:
        return "not tried yet"
    return f"{reason}: {subject}" if subject else str(reason)


def count(number: object, word: str) -> str:
    """Return a number with its word, in the plural but for 1."""
    return f"1 {word}" if number == 1 else f"{number} {word}s"
