"""What a shadow tells: as an object for programs, and as a text for people."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

from remuda.base.texts import shortened, shown
from remuda_kubernetes.shadow.ledger import COMPARED, Example, Kind, Ledger, Totals

# Examples that are told of each kind, unless the caller wants fewer or more.
EXAMPLES: Final = 10
_TEXT_LIMIT: Final = 300
_WORDS: Final = {
    Kind.SAME: "same node",
    Kind.ANOTHER: "another node",
    Kind.LATER: "later",
    Kind.REFUSED: "refused",
    Kind.EARLIER: "earlier",
    Kind.EVICTED: "would evict",
}
_LEFT: Final = {
    "ran": "had a node when they were first seen",
    "gone": "ended before either had decided",
    "too_many": "came while too many waited",
    "not_ready": "got their node before the shadow was ready",
}


@dataclass(slots=True)
class About:
    """Where the figures come from. ``others``: scheduler names that other pods have."""

    server: str = ""
    version: str = ""
    scheduler_names: tuple[str, ...] = ()
    seconds: float = 0.0
    held: int = 0
    others: tuple[str, ...] = ()
    problems: Mapping[str, str] = field(default_factory=dict)


def as_object(ledger: Ledger, about: About, examples: int = EXAMPLES) -> dict[str, Any]:
    """Return all figures, with the first examples of each kind. Implements: EXT-174."""
    now_ns = time.monotonic_ns()
    totals = ledger.totals(now_ns)
    compared = sum(totals.kinds[kind] for kind in COMPARED)
    both = totals.kinds[Kind.SAME] + totals.kinds[Kind.ANOTHER]
    ahead = ledger.ahead
    return {
        "server": about.server,
        "version": about.version,
        "scheduler_names": list(about.scheduler_names),
        "seconds": round(about.seconds, 3),
        "compared": compared,
        "same_node_percent": _percent(totals.kinds[Kind.SAME], compared),
        "both_placed_percent": _percent(both, compared),
        "kinds": {kind.value: totals.kinds[kind] for kind in _WORDS},
        "queues": _queues(totals),
        "ahead": {
            "pods": ahead.pods,
            "mean_seconds": round(ahead.sum_ns / 1e9 / ahead.pods, 3) if ahead.pods else 0.0,
            "max_seconds": round(ahead.max_ns / 1e9, 3),
        },
        "gang_pods": ledger.gang_pods,
        "waiting": ledger.waiting,
        "undecided": about.held,
        "not_compared": asdict(ledger.left),
        "warnings": _warnings(ledger, about),
        "examples": _examples(totals, examples, now_ns),
    }


def _percent(part: int, whole: int) -> float | None:
    return round(100 * part / whole, 1) if whole else None


def _queues(totals: Totals) -> dict[str, dict[str, int]]:
    return {
        queue: {kind.value: counts[kind] for kind in _WORDS}
        for queue, counts in sorted(totals.queues.items())
    }


def _examples(totals: Totals, most: int, now_ns: int) -> dict[str, list[dict[str, Any]]]:
    since_ns = time.time_ns() - now_ns
    return {
        kind.value: [_example(each, since_ns) for each in totals.examples[kind][:most]]
        for kind in _WORDS
    }


def _example(example: Example, since_ns: int) -> dict[str, Any]:
    at = datetime.fromtimestamp((example.at_ns + since_ns) / 1e9, UTC)
    return {
        "pod": example.pod,
        "queue": example.queue,
        "there": example.there,
        "here": example.here,
        "reason": shortened(example.reason, _TEXT_LIMIT),
        "ahead_seconds": round(example.ahead_ns / 1e9, 3),
        "at": at.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
    }


def _warnings(ledger: Ledger, about: About) -> list[str]:
    found = [f"{part}: {problem}" for part, problem in sorted(about.problems.items())]
    if not found and not ledger.seen and not ledger.left.ran:
        wanted = ", ".join(about.scheduler_names)
        others = ", ".join(about.others)
        there = f"the pods of the cluster have {others}" if others else "there are no pods"
        found.append(
            f"no pod has the schedulerName {wanted}: {there}; name it with --scheduler-name"
        )
    return [shortened(each, _TEXT_LIMIT) for each in found]


# ---------------------------------------------------------------------- for people


def as_text(found: Mapping[str, Any]) -> str:
    """Return the same for people."""
    schedulers = ", ".join(found["scheduler_names"])
    where = f"Kubernetes {shown(found['version'])} at {found['server']}"
    lines = [
        f"{where}, pods of {shown(schedulers)}, {found['seconds']:.0f} s",
        "",
        *_table(found),
        "",
        *_sums(found),
    ]
    for kind, word in _WORDS.items():
        those = found["examples"][kind.value]
        if those and kind is not Kind.SAME:
            lines += ["", word.capitalize()]
            lines += [f"  {_line(kind, each)}" for each in those]
            more = found["kinds"][kind.value] - len(those)
            lines += [f"  and {more} more"] if more > 0 else []
    lines += [f"warning: {shown(each)}" for each in found["warnings"]]
    return "\n".join(lines) + "\n"


def _table(found: Mapping[str, Any]) -> list[str]:
    rows = [("queue", *_WORDS.values())]
    for queue, counts in found["queues"].items():
        rows.append((shown(queue), *[str(counts[kind.value]) for kind in _WORDS]))
    rows.append(("all", *[str(found["kinds"][kind.value]) for kind in _WORDS]))
    widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))]
    return [_row(row, widths) for row in rows]


def _row(row: Sequence[str], widths: Sequence[int]) -> str:
    first = f"{row[0]:<{widths[0]}}"
    others = [f"{cell:>{width}}" for cell, width in zip(row[1:], widths[1:], strict=True)]
    return "  ".join([first, *others])


def _sums(found: Mapping[str, Any]) -> list[str]:
    lines = []
    if found["compared"]:
        lines.append(
            f"{found['compared']} pods compared: {found['same_node_percent']} % got the same node,"
            f" {found['both_placed_percent']} % a node in both"
        )
    else:
        lines.append("no pods compared")
    ahead = found["ahead"]
    if ahead["pods"]:
        lines.append(
            f"{ahead['pods']} of them the shadow decided before, by {ahead['mean_seconds']} s on"
            f" average and {ahead['max_seconds']} s at most"
        )
    if found["gang_pods"]:
        lines.append(f"{found['gang_pods']} of them belong to gangs")
    lines += [
        f"{count} pods are not compared: they {_LEFT[name]}"
        for name, count in found["not_compared"].items()
        if count
    ]
    return lines


def _line(kind: Kind, example: Mapping[str, Any]) -> str:
    pod, there, here = example["pod"], example["there"], example["here"]
    if kind is Kind.ANOTHER:
        text = f"{pod}: {there} there, {here} here"
    elif kind is Kind.EARLIER:
        text = f"{pod}: {here} here, for {example['ahead_seconds']:.1f} s"
    elif there:
        text = f"{pod}: {there} there"
    else:
        text = str(pod)
    return shown(f"{text}: {example['reason']}" if example["reason"] else text)
