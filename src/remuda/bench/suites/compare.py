"""Compares a session with an earlier one: the change of the rates, and whether decisions changed.

It reads a file that ``remuda bench --output json`` wrote, of another build, machine or version.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol, TextIO, TypeGuard

import msgspec
from rich.console import Console

from remuda.base.errors import UsageError
from remuda.base.message import message
from remuda.bench.reports.tables import table_of
from remuda.bench.suites.machine import Machine
from remuda.bench.suites.session import Session


class EarlierFigures(msgspec.Struct):
    """The figures of a result that are compared; results of other suites have neither."""

    allocations_per_second: float = 0.0
    digest: str = ""


class EarlierShape(msgspec.Struct):
    """A shape of the earlier session."""

    shape: str
    median: EarlierFigures


class Earlier(msgspec.Struct):
    """The earlier session."""

    machine: Machine
    shapes: list[EarlierShape]


class _Decided(Protocol):
    """A result of shapes that are placed as fast as possible."""

    @property
    def shape(self) -> str: ...

    @property
    def allocations_per_second(self) -> float: ...

    @property
    def digest(self) -> str: ...


@message
class Comparison:
    """A shape of both sessions; ``ratio``: the present rate as a multiple of the earlier one."""

    shape: str
    rate: float
    earlier: float
    ratio: float
    equal_decisions: bool


def read_session(path: Path) -> Earlier:
    """Read an earlier session. Raises: UsageError if there is none in that file."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=Earlier)
    except OSError as error:
        raise UsageError(f"--compare {path}: {error.strerror}") from error
    except msgspec.DecodeError as error:
        raise UsageError(
            f"--compare {path}: not written by remuda bench --output json: {error}"
        ) from error


def compared(session: Session, earlier: Earlier) -> list[Comparison]:
    """Return the shapes of both sessions that have rates and decisions, in the present order."""
    before = {each.shape: each.median for each in earlier.shapes}
    found: list[Comparison] = []
    for figures in session.medians():
        other = before.get(figures.shape)
        if other is None or not other.digest or not _is_decided(figures):
            continue
        rate = figures.allocations_per_second
        found.append(
            Comparison(
                shape=figures.shape,
                rate=rate,
                earlier=other.allocations_per_second,
                ratio=round(rate / other.allocations_per_second, 3),
                equal_decisions=figures.digest == other.digest,
            )
        )
    return found


def as_comparison(session: Session, earlier: Earlier, out: TextIO) -> None:
    """Write for people how the session compares with an earlier one."""
    console = Console(file=out)
    found = compared(session, earlier)
    if not found:
        console.print("compared: no shape with decisions is in both", soft_wrap=True)
        return
    table = table_of("shape", "allocations/s", "earlier", "ratio", "decisions")
    for each in found:
        table.add_row(
            each.shape,
            f"{each.rate:,.0f}",
            f"{each.earlier:,.0f}",
            f"{each.ratio:.2f}",
            "equal" if each.equal_decisions else "DIFFERENT",
        )
    console.print(table)
    for line in _differences(session.machine, earlier.machine):
        console.print(f"earlier: {line}", soft_wrap=True)


def _differences(now: Machine, before: Machine) -> Sequence[str]:
    """Return how the machine of the earlier session differs from this one."""
    names = ("cpu", "cores", "system", "python", "build", "version")
    return [
        f"{name} {getattr(before, name)}, now {getattr(now, name)}"
        for name in names
        if getattr(before, name) != getattr(now, name)
    ]


def _is_decided(figures: object) -> TypeGuard[_Decided]:
    return bool(getattr(figures, "digest", ""))
