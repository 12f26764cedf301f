"""The limits of one queue: their names and their effect (chapter 10 section 6.2).

A queue's limits are judged together: a user may be named once in all of them, and who is not
named comes last, as ``*``.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from remuda.base.fits import is_zero
from remuda.config.amounts import NOT_GIVEN, AmountReader, Amounts, excess, shown
from remuda.config.candidate import QueueCandidate
from remuda.config.drafts import LimitDraft, NamesDraft
from remuda.config.findings import Findings, cut
from remuda.config.schema import GROUP_NAME, USER_NAME, WILDCARD, LimitConfig


class _Named:
    """The users, or the groups, that the limits of one queue name, with the line of each."""

    def __init__(self, kind: str, pattern: re.Pattern[str]) -> None:
        self.kind = kind
        self.pattern = pattern
        self.lines: dict[str, int] = {}


class LimitCheck:
    """Checks the limits of the queues of one partition.

    Implements: CFG-52. Rules: chapter 10 section 6.2.
    """

    def __init__(self, amounts: AmountReader, findings: Findings) -> None:
        self._amounts = amounts
        self._findings = findings

    def check(self, queue: QueueCandidate) -> tuple[LimitConfig, ...]:
        """Return the limits of a queue, noting what is wrong with them."""
        users = _Named("user", USER_NAME)
        groups = _Named("group", GROUP_NAME)
        return tuple([self._limit(draft, queue, users, groups) for draft in queue.limit_drafts])

    def _limit(
        self, draft: LimitDraft, queue: QueueCandidate, users: _Named, groups: _Named
    ) -> LimitConfig:

        def where() -> str:
            return _where(draft, queue)

        unread = self._findings.unread
        named = bool(draft.users.names or draft.groups.names)
        if not named and not unread(draft.path, "users", "groups"):
            text = f"empty user and group lists defined in {where()}"
            self._findings.add(draft.node, draft.path, "CFG-52", text, "name users or groups")
        self._names(draft.users, users, queue)
        self._names(draft.groups, groups, queue)
        alone = len(groups.lines) == 1 and WILDCARD in groups.lines
        if draft.groups.names and alone and not unread(draft.path, "groups"):
            text = f"only one group limit in queue {queue.path}, and it is the wildcard"
            hint = "name a group before *, or limit the queue itself"
            self._findings.add(draft.node, draft.groups.path, "CFG-56", text, hint)
        amounts = self._maximum(draft, where)
        self._bounds(draft, queue, amounts, where)
        return LimitConfig(
            users=tuple([name for name, _ in draft.users.names]),
            groups=tuple([name for name, _ in draft.groups.names]),
            maximum=amounts.values,
            max_applications=draft.max_applications,
            description=draft.description,
        )

    def _names(self, draft: NamesDraft, named: _Named, queue: QueueCandidate) -> None:
        """Check the names of one list in order. Implements: CFG-53, CFG-54, CFG-55, CFG-56."""
        lines = named.lines
        for index, (name, node) in enumerate(draft.names):
            if not name and self._findings.unread(f"{draft.path}[{index}]"):
                continue
            if name != WILDCARD and not named.pattern.fullmatch(name):
                text = f"invalid limit {named.kind} name {cut(name)!r}"
                rule, hint = "CFG-53", _NAME_HINTS[named.kind]
            elif name in lines:
                text = f"duplicated {named.kind} name {cut(name)!r}, first at line {lines[name]},"
                rule, hint = "CFG-54", "name it once in all limits of a queue"
            elif WILDCARD in lines:
                text = f"{named.kind} {cut(name)!r} after wildcard {named.kind} limit"
                rule, hint = "CFG-55", "* comes last"
                lines[name] = node.line
            else:
                lines[name] = node.line
                continue
            text = f"{text} in a limit of queue {queue.path}"
            self._findings.add(node, f"{draft.path}[{index}]", rule, text, hint)

    def _maximum(self, draft: LimitDraft, where: Callable[[], str]) -> Amounts:
        """Read the amounts, which must parse and not all be zero. Implements: CFG-57, CFG-58."""
        amounts = self._amounts.read(draft.maximum, where)
        amounts.note(self._findings, "CFG-57")
        if amounts.faults:
            return NOT_GIVEN
        if draft.maximum is not None and amounts.values and is_zero(amounts.values):
            text = f"MaxResources should be greater than zero in {where()}"
            hint = "give at least one amount above 0"
            self._findings.add(draft.maximum.node, draft.maximum.path, "CFG-57", text, hint)
        elif (
            not amounts.values
            and not draft.max_applications
            and not self._findings.unread(draft.path, "maxresources", "maxapplications")
        ):
            text = f"invalid resource combination for {where()}: nothing is limited"
            hint = "give maxresources or maxapplications"
            self._findings.add(draft.node, draft.path, "CFG-58", text, hint)
        return amounts

    def _bounds(
        self,
        draft: LimitDraft,
        queue: QueueCandidate,
        amounts: Amounts,
        where: Callable[[], str],
    ) -> None:
        """Check that a limit does not exceed the maximum of its queue.

        Implements: CFG-59, CFG-60.
        """
        most = queue.draft.max_applications
        if most and draft.max_applications > most:
            text = (
                f"invalid MaxApplications settings for {where()}:"
                f" {draft.max_applications} exceeds {most} of the queue"
            )
            path = f"{draft.path}.maxapplications"
            self._findings.add(draft.applications_node, path, "CFG-59", text, "lower it")
        maximum = queue.maximum.values or {}
        over = excess(amounts.values or {}, maximum) if queue.level else []
        if over and draft.maximum is not None:
            text = (
                f"invalid MaxResources settings for {where()}:"
                f" {shown(amounts.values or {}, over)} exceeds {shown(maximum, over)} of the queue"
            )
            self._findings.add(draft.maximum.node, draft.maximum.path, "CFG-60", text, "lower it")


_NAME_HINTS: Final = {
    "user": "write * or a letter or _, then letters, digits and : # / _ . @ -, at most one $ last",
    "group": "write * or a letter or _, then letters, digits and : _ . -",
}


def _where(draft: LimitDraft, queue: QueueCandidate) -> str:
    what = f"limit {cut(draft.description)!r}" if draft.description else "a limit"
    return f"{what} of queue {queue.path}"
