"""Placement rules and their filters: can they be built, and do they lead anywhere?

First every rule's own words, then, where the queue of a rule is known without an application,
whether that queue exists and is of the right kind (chapter 10 section 6.4).
"""

from __future__ import annotations

import itertools
import re
from typing import Final

from remuda.config.candidate import QueueCandidate
from remuda.config.drafts import FilterDraft, NamesDraft, RuleDraft
from remuda.config.findings import Findings, cut
from remuda.config.patterns import PatternError, compiled
from remuda.config.schema import (
    GROUP_NAME,
    QUEUE_NAME,
    ROOT,
    RULE_FIXED,
    RULE_RECOVERY,
    RULE_TAG,
    RULES,
    USER_NAME,
    FilterConfig,
    NameFilter,
    PlacementRuleConfig,
)

# Distinct expressions that one configuration may hold: compiling one takes milliseconds.
PATTERNS_LIMIT: Final = 100

_RULE_NAME: Final = re.compile(r"[_a-zA-Z][a-zA-Z0-9_]*")
_FIXED_VALUE: Final = re.compile(rf"{QUEUE_NAME.pattern}(?:\.{QUEUE_NAME.pattern}){{0,50}}")
_SPECIAL: Final = re.compile(r"[\^$*+?()\[{}|]")
_GLOB: Final = re.compile(r"[a-zA-Z0-9_:#/.@?*-]*[a-zA-Z0-9_:#/@-][?*][a-zA-Z0-9_:#/.@?*-]*")


class RuleCheck:
    """Checks the placement rules of one partition against its queues."""

    def __init__(self, root: QueueCandidate, findings: Findings, patterns: dict[str, str]) -> None:
        """Take the ``patterns`` seen so far in the document, with the fault of each."""
        self._root = root
        self._findings = findings
        self._patterns = patterns

    def check(self, drafts: tuple[RuleDraft, ...]) -> tuple[PlacementRuleConfig, ...]:
        """Return the rules, noting what is wrong with them.

        Rules: chapter 10 section 6.4, PLC-12, PLC-14, chapter 20 section 6.
        """
        built = []
        for number, draft in enumerate(drafts):
            before = len(self._findings.errors)
            rule = self._rule(draft, number)
            unread = self._findings.unread(draft.path, "name", "value", "create", "parent")
            built.append((draft, rule, not unread and len(self._findings.errors) == before))
        # The queues that a rule leads to may be among those that could not be read.
        known = not self._findings.unread(self._root.draft.path.partition(".")[0], "queues")
        for number, (draft, _, sound) in enumerate(built):
            if sound and known:
                self._static_path(draft, number)
        return tuple([rule for _, rule, _ in built])

    def _rule(self, draft: RuleDraft, number: int) -> PlacementRuleConfig:
        """Check a rule's own words, its parent's, then its filter. Implements: CFG-80, CFG-81."""
        self._words(draft, number)
        parent = None if draft.parent is None else self._rule(draft.parent, number)
        kind = draft.name.lower()
        return PlacementRuleConfig(
            name=kind,
            create=draft.create,
            value=_value(draft) if kind in (RULE_FIXED, RULE_TAG) else "",
            parent=parent,
            filter=None if draft.filter is None else self._filter(draft.filter, number),
        )

    def _words(self, draft: RuleDraft, number: int) -> None:
        """Check that a rule can be built.

        Implements: PLC-12, CFG-34, RLD-8, PLC-36. Rules: CFG-80, PLC-14.
        """
        path = f"{draft.path}.name"
        shown = cut(draft.name)
        kind = draft.name.lower()
        where = f"of placement rule no. #{number}"
        rules = f"the rules are {', '.join(sorted(RULES))}"
        if not draft.name and self._findings.unread(draft.path, "name"):
            return
        if not _RULE_NAME.fullmatch(draft.name):
            text = f"invalid rule name {shown!r} {where}"
            self._findings.add(draft.node, path, "CFG-80", text, rules)
        elif kind == RULE_RECOVERY:
            text = f"rule name recovery {where} cannot be configured, it is always the last rule"
            self._findings.add(draft.node, path, "PLC-12", text, "remove it")
        elif kind not in RULES:
            text = f"unknown rule name specified {shown} {where}"
            self._findings.add(draft.node, path, "PLC-12", text, rules)
        elif kind in (RULE_FIXED, RULE_TAG):
            self._value(draft, kind, where)

    def _value(self, draft: RuleDraft, kind: str, where: str) -> None:
        """Check that a rule that needs a value has one. Implements: PLC-14."""
        value = draft.value
        if value is None or not value.text:
            if self._findings.unread(draft.path, "value"):
                return
            what = "queue" if kind == RULE_FIXED else "tag"
            text = f"a {kind} queue rule must have a {what} name set, the value {where} is missing"
            hint = f"add value: and the {what}'s name"
            self._findings.add(draft.node, draft.path, "PLC-14", text, hint)
            return
        if kind == RULE_FIXED and not _FIXED_VALUE.fullmatch(value.text):
            for part in value.text.split(".", 50):
                if not QUEUE_NAME.fullmatch(part):
                    text = f"invalid queue name {cut(part)!r} in the value {where}"
                    hint = "between dots stand 1 to 64 letters, digits and _ : # / @ -"
                    self._findings.add(value.node, value.path, "PLC-14", text, hint)
                    break

    # --------------------------------------------------------------------------------- filters

    def _filter(self, draft: FilterDraft, number: int) -> FilterConfig | None:
        """Return the filter of a rule, None if the rule is for everybody.

        Implements: CFG-82. Rules: CFG-83, CFG-84, PLC-44.
        """
        kind = draft.kind.text.lower() if draft.kind is not None else ""
        where = f"of placement rule no. #{number}"
        if draft.kind is not None and kind not in ("", "allow", "deny"):
            text = f"invalid rule filter type {cut(draft.kind.text)!r} {where}"
            hint = "write allow or deny"
            self._findings.add(draft.kind.node, draft.kind.path, "CFG-82", text, hint)
        users = self._names(draft.users, "user", USER_NAME, where)
        groups = self._names(draft.groups, "group", GROUP_NAME, where)
        if kind != "deny" and users is None and groups is None:
            return None
        return FilterConfig(kind == "deny", users, groups)

    def _names(
        self, draft: NamesDraft | None, kind: str, legal: re.Pattern[str], where: str
    ) -> NameFilter | None:
        """Return one part of a filter: names, or one expression.

        Implements: CFG-83, PLC-50, PLC-51. Rules: PLC-47, PLC-48, CFG-84; a full name with a $ at
        its end is a name (PLC-50).
        """
        if draft is None:
            return None
        first, node = draft.names[0]
        above, _, key = draft.path.rpartition(".")
        if self._findings.unread(above, key):
            return None
        if len(draft.names) > 1 or legal.fullmatch(first):
            self._list(draft, kind, legal, where)
            return NameFilter(names=tuple(dict.fromkeys(name for name, _ in draft.names)))
        fault = self._pattern_fault(first)
        path = f"{draft.path}[0]"
        if fault:
            text = f"filter {kind} list {where} is not a proper list or regexp: {cut(first)!r}"
            self._findings.add(node, path, "CFG-83", f"{text}, {fault}", "write names, or RE2")
        elif _GLOB.fullmatch(first):
            text = (
                f"the {kind} filter {cut(first)!r} {where} is a regular expression, found anywhere"
                " in a name, and looks like a file name pattern"
            )
            hint = f"write ^{cut(first).replace('*', '.*').replace('?', '.')}$ if that is meant"
            self._findings.warn(node, path, "PLC-51", text, hint)
        return NameFilter(pattern=first)

    def _list(self, draft: NamesDraft, kind: str, legal: re.Pattern[str], where: str) -> None:
        """Check that all entries of a list are names. Implements: CFG-84 (D-C9)."""
        for index, (name, node) in enumerate(draft.names):
            if not legal.fullmatch(name):
                text = f"filter {kind} list {where} is not a proper list or regexp: {cut(name)!r}"
                hint = "in a list of several only names can stand"
                path = f"{draft.path}[{index}]"
                self._findings.add(node, path, "CFG-84", f"{text} is no {kind} name", hint)

    def _pattern_fault(self, text: str) -> str:
        """Return why a text is no expression, "" if it is one.

        Implements: CFG-33. Rules: CFG-83, PLC-52.
        """
        if not _SPECIAL.search(text):
            return "neither a name nor a regular expression"
        if text not in self._patterns:
            if len(self._patterns) >= PATTERNS_LIMIT:
                return f"more than {PATTERNS_LIMIT} regular expressions"
            try:
                compiled(text)
            except PatternError as error:
                self._patterns[text] = str(error)
            else:
                self._patterns[text] = ""
        return self._patterns[text]

    # ------------------------------------------------------------------------------ static paths

    def _static_path(self, draft: RuleDraft, number: int) -> None:
        """Follow what is known of a rule's queue without an application.

        The leading rules named exactly ``fixed`` count, outermost parent first.

        Implements: CFG-85, CFG-86, CFG-88, CFG-89. Rules: CFG-87.
        """
        chain = _chain(draft)
        names = "->".join(cut(rule.name) for rule in chain)
        what = f"placement rule no. #{number} ({names})"
        static = list(itertools.takewhile(lambda rule: rule.name == RULE_FIXED, chain))
        for position, rule in enumerate(chain[1:], 1):
            if rule.name.lower() == RULE_FIXED and _qualified(_value(rule)):
                self._refuse_qualified(rule, what, "CFG-85" if position < len(static) else "PLC-14")
                return
        parts: list[str] = []
        for rule in static:
            own = _value(rule).split(".")
            if _qualified(_value(rule)):
                parts = own
            else:
                parts += own if parts else [ROOT, *own]
            last = rule is static[-1]
            if not self._level(
                rule, parts, what, create=rule.create and (draft.create or not last)
            ):
                return
        if static:
            self._end(static[-1], parts, what, dynamic=len(static) < len(chain))

    def _refuse_qualified(self, rule: RuleDraft, what: str, broken: str) -> None:
        text = f"illegal fully qualified 'fixed' rule with value {cut(_value(rule))!r} in {what}"
        hint = "only the outermost parent rule may start with root"
        self._findings.add(rule.node, rule.path, broken, text, hint)

    def _level(self, rule: RuleDraft, parts: list[str], what: str, *, create: bool) -> bool:
        """See that a queue exists or can be made; D-C7: every level's own flag counts."""
        queue, missing = self._nearest(parts)
        if not missing or (queue.parent and create):
            return True
        path = ".".join(parts)
        if not queue.parent:
            text = (
                f"{what} references non-existing queues ({path}) which cannot be created because"
                f" the last queue ({queue.name}) in the hierarchy is a leaf"
            )
            hint = "name another queue"
        else:
            text = f"{what} references non-existing queues ({path}) and create is 'false'"
            hint = "set create: true on each rule of the chain, or configure the queue"
        self._findings.add(rule.node, rule.path, "CFG-87", text, hint)
        return False

    def _end(self, rule: RuleDraft, parts: list[str], what: str, *, dynamic: bool) -> None:
        """See that a queue that exists is of the right kind. Implements: CFG-87. Rules: D-C6."""
        queue, missing = self._nearest(parts)
        if missing or queue.parent == dynamic:
            return
        path = ".".join(parts)
        if dynamic:
            text = (
                f"{what} references a queue ({path}) which is a leaf and takes no queues below it"
            )
            hint = "set parent: true on it"
        else:
            text = f"{what} references a queue ({path}) which is not a leaf"
            hint = "name a queue without queues below it"
        self._findings.add(rule.node, rule.path, "CFG-87", text, hint)

    def _nearest(self, parts: list[str]) -> tuple[QueueCandidate, int]:
        """Return the deepest queue there is on a path, and how many are missing below it."""
        queue = self._root
        for done, part in enumerate(parts[1:], 1):
            child = queue.child(part)
            if child is None:
                return queue, len(parts) - done
            queue = child
        return queue, 0


def _chain(draft: RuleDraft) -> list[RuleDraft]:
    """Return a rule and its parents, the outermost parent first."""
    chain = [draft]
    while (parent := chain[-1].parent) is not None:
        chain.append(parent)
    return chain[::-1]


def _value(rule: RuleDraft) -> str:
    return rule.value.text.lower() if rule.value is not None else ""


def _qualified(value: str) -> bool:
    """Whether a fixed value starts at root. Rules: PLC-32 (D-P2)."""
    return value == ROOT or value.startswith(f"{ROOT}.")
