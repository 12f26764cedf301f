"""The picture of a view: HTML without scripts, which takes its colours from the page around it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Final

from remuda.cli.viewing.amounts import amount, amounts, in_order, smaller
from remuda.insight.html import table
from remuda.library.records import FairShare
from remuda.notebook.lines import WaitingLine

_USED: Final = "#0d9488"
_ABOVE: Final = "#d97706"
_PENDING: Final = "repeating-linear-gradient(45deg,#64748b 0 3px,transparent 3px 6px)"
_ROOM: Final = "rgba(127,127,127,.18)"


def view_html(
    title: str, queues: Sequence[FairShare], waiting: Sequence[WaitingLine], more: int
) -> str:
    """Return the picture of a view; the arguments are its fields."""
    parts = [f"<div><b>{escape(title)}</b>"]
    root = next((share for share in queues if "." not in share.queue), None)
    if root is not None:
        parts += [_chart(root), _tree(queues)]
    parts.append(_waiting(waiting, more) if waiting else "<p>Nothing waits.</p>")
    return "".join([*parts, "</div>"])


def _waiting(waiting: Sequence[WaitingLine], more: int) -> str:
    rows = [
        (
            each.application_id,
            each.allocation_key,
            str(each.pending),
            amounts(each.resource),
            each.reason,
        )
        for each in waiting
    ]
    if more:
        rows.append((f"and {more} more", "", "", "", ""))
    titles = ("application", "ask", "count", "each", "waits for")
    return f"<p>What waits</p>{table(titles, rows)}"


def _chart(root: FairShare) -> str:
    """Return a bar for each resource type of the cluster: used, waiting, and how much there is."""
    whole = root.maximum or {}
    rows = [
        "<tr>"
        f"<td>{escape(name)}</td><td>{_bar(root, name, whole[name], 240)}</td>"
        f"<td>{escape(amount(name, root.allocated.get(name, 0)))} of"
        f" {escape(amount(name, whole[name]))}</td></tr>"
        for name in in_order(whole)
        if whole[name] > 0
    ]
    return f"<table>{''.join(rows)}</table>" if rows else "<p>There are no nodes.</p>"


def _tree(queues: Sequence[FairShare]) -> str:
    rows = []
    for share, limits in _with_limits(queues):
        depth = share.queue.count(".")
        name = _tightest(share, limits)
        bar = _bar(share, name, limits[name], 160) if name else ""
        label = f"{escape(amount(name, share.allocated.get(name, 0)))}" if name else ""
        rows.append(
            f'<tr><td style="text-align:left;padding-left:{8 + 16 * depth}px">'
            f"{escape(share.queue.rpartition('.')[2])}</td><td>{bar}</td><td>{label}</td>"
            f"<td>{escape(amounts(share.guaranteed))}</td><td>{escape(amounts(share.owed))}</td>"
            "</tr>"
        )
    head = "".join(f"<th>{title}</th>" for title in ("queue", "use", "", "guaranteed", "owed"))
    return f"<table><tr>{head}</tr>{''.join(rows)}</table>"


def _with_limits(queues: Sequence[FairShare]) -> Iterator[tuple[FairShare, Mapping[str, int]]]:
    """Yield each queue with what it may use, given the maxima above it; parents come first."""
    known: dict[str, dict[str, int]] = {}
    for share in sorted(queues, key=lambda each: each.queue.split(".")):
        limits = smaller(share.maximum or {}, known.get(share.queue.rpartition(".")[0], {}))
        known[share.queue] = limits
        yield share, limits


def _tightest(share: FairShare, limits: Mapping[str, int]) -> str:
    """Return the type that the queue uses the largest part of, "" if it has no limit of any."""
    parts = [
        (-share.allocated.get(name, 0) / limits[name], place, name)
        for place, name in enumerate(in_order(limits))
        if limits[name] > 0
    ]
    return min(parts)[2] if parts else ""


def _bar(share: FairShare, name: str, whole: int, width: int) -> str:
    """Return a bar of ``width`` pixels: used, waiting behind it, a mark at the guarantee."""

    def pixels(value: int) -> int:
        return min(width, max(0, value * width // whole))

    used = share.allocated.get(name, 0)
    due = (share.guaranteed or {}).get(name)
    colour = _ABOVE if due is not None and used > due else _USED
    behind = pixels(used + share.pending.get(name, 0))
    mark = (
        f'<span style="position:absolute;left:{pixels(due)}px;width:2px;height:14px;'
        'background:currentColor"></span>'
        if due
        else ""
    )
    return (
        f'<span style="display:inline-block;position:relative;width:{width}px;height:14px;'
        f'background:{_ROOM}" title="{escape(amount(name, used))}">'
        f'<span style="position:absolute;left:0;width:{behind}px;height:14px;'
        f'background:{_PENDING}"></span>'
        f'<span style="position:absolute;left:0;width:{pixels(used)}px;height:14px;'
        f'background:{colour}"></span>{mark}</span>'
    )
