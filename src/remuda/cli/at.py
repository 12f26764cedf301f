"""The command ``remuda at``: the state of a scheduler at a past moment, from its journal."""

from __future__ import annotations

import os
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from remuda.base.addresses import parse_address
from remuda.base.errors import UsageError
from remuda.cli.journal_options import DirectoryArgument, PartitionOption, time_text
from remuda.cli.viewing.options import RmOption

if TYPE_CHECKING:
    from remuda.edges.addresses import Address
    from remuda.library.moment import Moment
    from remuda.runtime.replay import Reached

EXAMPLES: Final = """
Examples:

  remuda at /var/lib/remuda/journal 14:05

  remuda at /var/lib/remuda/journal 14:05 --explain spark-17/executor-3

  remuda at /var/lib/remuda/journal 15m --output state.snapshot

  remuda at /var/lib/remuda/journal 15m --rest-address 127.0.0.1:9180
"""

_When = Annotated[
    str,
    typer.Argument(
        metavar="[WHEN]",
        help="A time (14:05, 2026-01-31T14:05:00Z), how long ago (15m), or an input's number; "
        "by default the end.",
    ),
]
_Output = Annotated[
    Path | None, typer.Option("--output", metavar="FILE", help="Write the state as a snapshot.")
]
_Explain = Annotated[
    str,
    typer.Option(
        metavar="APPLICATION[/KEY]", help="Tell why this ask waited, or all of an application."
    ),
]
_RestAddress = Annotated[
    str,
    typer.Option(
        metavar="HOST:PORT",
        help="Serve the HTTP API about that moment here until Ctrl-C; port 0: a free one.",
    ),
]


def at(
    directory: DirectoryArgument,
    when: _When = "",
    output: _Output = None,
    explain: _Explain = "",
    rest_address: _RestAddress = "",
    partition: PartitionOption = "",
    rm: RmOption = "",
) -> None:
    """Show what a scheduler was like at a past moment of its journal.

    The state is the one after the last input up to that moment. Times without an offset are those
    of this machine's time zone; a time without a date is the latest one.

    Exit code 0: done; 1: another version wrote the journal and decided differently; 2: there is no
    such moment, no such ask, or the journal is damaged.
    """
    # gRPC reads this when it is imported; it must take no part in the copies that answer questions.
    os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")

    from remuda.library.moment import moment_of  # noqa: PLC0415 - keeps help fast
    from remuda.runtime import snapshots  # noqa: PLC0415
    from remuda.runtime.journals.past import Until, state_at  # noqa: PLC0415
    from remuda.runtime.journals.when import parse_when  # noqa: PLC0415

    address = parse_address("--rest-address", rest_address) if rest_address else None
    now = datetime.now().astimezone()
    reached = state_at(directory, parse_when(when, now, "WHEN") if when else Until())
    told = [f"after input {reached.inputs}, which came {time_text(reached.now_ns)}"]
    if explain or partition or rm:
        moment = moment_of(reached.scheduler, reached.now_ns, partition, rm)
        asks = _asks(moment, explain) if explain else []
        told += [str(moment.explain(*ask)) for ask in asks]
    if not explain and output is None:
        told += [f"{n} {name}" for name, n in snapshots.counts(reached.scheduler).items()]
    print("\n".join(told))
    if output is not None:
        snapshots.write(output, reached.scheduler, reached.now_ns)
        print(f"{output}: written; 'remuda snapshot {output}' shows it")
    if address is not None:
        _serve(reached, address)


def _asks(moment: Moment, text: str) -> list[tuple[str, str]]:
    """Return the asks that are meant, by application and key. Raises: UsageError if there is none.

    An application may have a slash in its ID.
    """
    waiting = [(each.application_id, each.allocation_key) for each in moment.pending()]
    found = [ask for ask in waiting if ask[0] == text]
    if not found:
        placed = [(each.application_id, each.allocation_key) for each in moment.allocations()]
        found = [ask for ask in dict.fromkeys(waiting + placed) if "/".join(ask) == text]
    if not found and "/" in text:
        raise UsageError(f"there was no ask {text!r:.80} then; write APPLICATION/KEY")
    if not found:
        raise UsageError(f"application {text!r:.80} had no ask that waited then")
    return found


def _serve(reached: Reached, address: Address) -> None:
    """Serve the HTTP API until Ctrl-C."""
    from remuda.past import serve_past  # noqa: PLC0415 - takes long to load

    def told(where: str) -> None:
        print(f"listening rest={where}", flush=True)

    serve_past(reached.scheduler, reached.now_ns, address, told)
