"""Findings about a cluster, in order, as text and as JSON."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Any, Final

from remuda.base.texts import shortened, shown
from remuda_kubernetes.translation.findings import Finding as Fault

# Findings that are told; what comes after them is only counted.
LIMIT: Final = 500
_TEXT_LIMIT: Final = 400
_TITLES: Final = ("Errors", "Warnings", "Notes")


class Severity(IntEnum):
    """How bad a finding is, the worst first."""

    ERROR = 0
    WARNING = 1
    NOTE = 2


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding.

    ``area``: versions, permissions, configuration, installation or pods. ``where``: the object, as
    KIND NAMESPACE/NAME. ``more``: how many other objects have the same.
    """

    severity: Severity
    area: str
    where: str
    problem: str
    advice: str
    more: int = 0


def of_fault(fault: Fault, area: str, where: str) -> Finding:
    """Return a fault that the shim tells as a finding about an object."""
    severity = Severity.ERROR if fault.error else Severity.WARNING
    return Finding(severity, area, where, f"{fault.where}: {fault.problem}", fault.advice)


def ordered(findings: Iterable[Finding]) -> list[Finding]:
    """Return findings, the worst first; the same about several objects becomes one.

    Texts come from objects that anybody may have written: they are cut, on one line and printable.
    """
    merged: dict[tuple[Severity, str, str, str], Finding] = {}
    for each in sorted(findings, key=lambda found: (found.severity, found.area, found.where)):
        key = (each.severity, each.area, each.problem, each.advice)
        first = merged.get(key)
        if first is None:
            merged[key] = each
        elif first.where != each.where:
            merged[key] = replace(first, more=first.more + 1)
    return [
        replace(
            each,
            where=clean(each.where),
            problem=clean(each.problem),
            advice=clean(each.advice),
        )
        for each in merged.values()
    ]


def clean(text: str) -> str:
    """Return a text of others as it may be shown: cut, on one line and printable."""
    return shortened(shown(" ".join(text[: 4 * _TEXT_LIMIT].split())), _TEXT_LIMIT)


def counts(findings: Iterable[Finding]) -> dict[str, int]:
    """Return how many findings there are of each severity."""
    found = dict.fromkeys(("errors", "warnings", "notes"), 0)
    for each in findings:
        found[("errors", "warnings", "notes")[each.severity]] += 1
    return found


def as_text(findings: list[Finding], title: str) -> str:
    """Return a table for people: by severity, with a line that sums it up at the end."""
    lines = [title]
    for severity in Severity:
        those = [each for each in findings[:LIMIT] if each.severity is severity]
        if those:
            lines += ["", _TITLES[severity]]
            width = max(len(each.area) for each in those)
            for each in those:
                others = f" and {each.more} more" if each.more else ""
                lines.append(f"  {each.area:{width}}  {each.where}{others}: {each.problem}")
                lines.append(f"  {'':{width}}  -> {each.advice}")
    if len(findings) > LIMIT:
        lines += ["", f"{len(findings) - LIMIT} more findings are not shown"]
    lines += ["", _summary(findings)]
    return "\n".join(lines) + "\n"


def _summary(findings: list[Finding]) -> str:
    parts = [
        f"{count} {name if count != 1 else name[:-1]}" for name, count in counts(findings).items()
    ]
    return ", ".join(parts)


def as_objects(findings: list[Finding], **about: Any) -> dict[str, Any]:
    """Return the same for programs."""
    return {
        **about,
        "counts": counts(findings),
        "findings": [
            {
                "severity": each.severity.name.lower(),
                "area": each.area,
                "object": each.where,
                "problem": each.problem,
                "advice": each.advice,
                "more": each.more,
            }
            for each in findings[:LIMIT]
        ],
    }
