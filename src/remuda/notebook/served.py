"""What a serving scheduler looks like now, read over its HTTP API."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from remuda.cli.server import server_at
from remuda.cli.viewing import values
from remuda.cli.viewing.columns import Question, Row
from remuda.cli.viewing.kinds import FAIR_SHARES, kind_of
from remuda.library.records import FairShare
from remuda.notebook.lines import WaitingLine


def seen(
    address: str, partition: str, token_file: Path | None, server_ca: Path | None, *, most: int
) -> tuple[str, tuple[FairShare, ...], tuple[WaitingLine, ...], int]:
    """Return title, queues, the first ``most`` asks that wait, and how many others wait.

    Raises: UsageError for an address that is none; RemudaError if nobody answers.
    """
    server = server_at(address, token_file, server_ca)
    question = Question(partition)
    shares = tuple([_share(row) for row in FAIR_SHARES.read(server, question)])
    lines: list[WaitingLine] = []
    more = 0
    for row in kind_of("asks").read(server, question):
        if len(lines) < most:
            lines.append(_line(row))
        else:
            more += 1
    return f"{server.address}, partition {partition}", shares, tuple(lines), more


def _share(row: Row) -> FairShare:
    return FairShare(
        str(row["queueName"]),
        bool(row.get("isLeaf")),
        _amounts(row.get("allocated")),
        _amounts(row.get("pending")),
        _amounts_or_none(row.get("guaranteed")),
        _amounts_or_none(row.get("maximum")),
        float(row.get("share") or 0),
        int(row.get("priority") or 0),
        _amounts(row.get("owed")),
    )


def _line(row: Row) -> WaitingLine:
    return WaitingLine(
        str(row.get("applicationID", "")),
        str(row.get("allocationKey", "")),
        int(row.get("pendingCount") or 0),
        _amounts(row.get("resource")),
        values.waits_for(row),
    )


def _amounts(found: Any) -> dict[str, int]:
    known = found if isinstance(found, Mapping) else {}
    return {str(name): amount for name, amount in known.items() if isinstance(amount, int)}


def _amounts_or_none(found: Any) -> dict[str, int] | None:
    return _amounts(found) if isinstance(found, Mapping) else None
