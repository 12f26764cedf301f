"""What a scheduler looks like now, for a notebook: queues with bars, use by resource, what waits.

    import remuda

    remuda.view(scheduler)                      # one of this program, or a Moment
    remuda.view("http://127.0.0.1:9080")        # one that serves

A view is a copy: it does not change when the scheduler does.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from remuda.base.reason_text import reason_text
from remuda.cli.viewing.amounts import amounts
from remuda.library.errors import RequestError
from remuda.library.moment import Moment
from remuda.library.records import Ask, FairShare
from remuda.library.scheduler import Scheduler
from remuda.notebook.lines import WaitingLine
from remuda.notebook.pictures import view_html

# Asks that are shown with the reason why they wait.
_SHOWN: Final = 20


@dataclass(frozen=True, slots=True)
class View:
    """A scheduler at one moment; the last expression of a notebook's cell shows it as a picture.

    ``title``: what is shown. ``queues``: what each uses and is owed, by path. ``waiting``: the
    first asks that wait, by application and key. ``more``: how many others wait.
    """

    title: str
    queues: tuple[FairShare, ...]
    waiting: tuple[WaitingLine, ...]
    more: int = 0

    def __str__(self) -> str:
        """Return it as lines of text: the queues, then what waits."""
        lines = [self.title]
        for share in self.queues:
            waits = f", {amounts(share.pending)} pending" if any(share.pending.values()) else ""
            lines.append(f"  {share.queue}: {amounts(share.allocated)} used{waits}")
        lines += [
            f"  {each.application_id}/{each.allocation_key} waits: {each.reason}"
            for each in self.waiting
        ]
        if self.more:
            lines.append(f"  {self.more} more asks wait")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """Return the picture."""
        return view_html(self.title, self.queues, self.waiting, self.more)


def view(
    source: Scheduler | Moment | str,
    *,
    partition: str = "default",
    token_file: Path | None = None,
    server_ca: Path | None = None,
) -> View:
    """Return what a scheduler looks like now. Implements: EXT-96.

    Args:
        source: a scheduler of this program, a past moment, or the address of the HTTP API of one
            that serves, such as "http://127.0.0.1:9080".
        partition: which partition of one that serves.
        token_file: file with the token of an identity that may read, if the server asks for it.
        server_ca: file with the authorities of the server's certificate.

    Raises: RequestError; UsageError for an address that is none; RemudaError if nobody answers.
    """
    if isinstance(source, str):
        # Only here: a program with a scheduler of its own calls no server.
        from remuda.notebook import served  # noqa: PLC0415

        return View(*served.seen(source, partition, token_file, server_ca, most=_SHOWN))
    if not isinstance(source, Scheduler | Moment):
        raise RequestError(
            f"{source!r:.80} cannot be viewed; pass a Scheduler, a Moment or an address"
        )
    asks = source.pending()
    return View(
        "scheduler" if isinstance(source, Scheduler) else repr(source).strip("<>"),
        tuple(source.fair_shares()),
        tuple([_waiting(source, ask) for ask in asks[:_SHOWN]]),
        max(len(asks) - _SHOWN, 0),
    )


def _waiting(source: Scheduler | Moment, ask: Ask) -> WaitingLine:
    why = (
        source.explain(ask)
        if isinstance(source, Scheduler)
        else source.explain(ask.application_id, ask.allocation_key)
    )
    return WaitingLine(
        ask.application_id,
        ask.allocation_key,
        ask.max_allocations,
        ask.resource,
        reason_text(why.gate, why.subject),
    )
