"""Access lists: one parser for what a file says about who may use a queue (chapter 30, section 3).

The reference checks a list by one rule when a file is validated and reads it by another when it is
loaded; here there is one (D-C3). Names that no user or group can have are left out with a warning.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from remuda.config.drafts import TextAt
from remuda.config.findings import Findings, cut
from remuda.config.schema import GROUP_NAME, USER_NAME, WILDCARD, AccessList

NOBODY: Final = AccessList()
EVERYBODY: Final = AccessList(everybody=True)

_HINT: Final = "write users, one blank, groups, each list with commas and without blanks"


def access_list(draft: TextAt, owner: Callable[[], str], findings: Findings) -> AccessList:
    """Return the list that a text describes, and note its problems.

    ``owner`` names the queue.

    Implements: ACL-1, ACL-2, ACL-3, ACL-4, ACL-5, ACL-6, CFG-50, CFG-51.
    """
    if not draft.text:
        return NOBODY
    text = draft.text
    if text.strip() == WILDCARD:
        return EVERYBODY
    parts = text.split(" ")
    if len(parts) > 2 or len(text.split()) > 2:
        what = f"multiple spaces found in ACL of {owner()}: {cut(text)!r}"
        findings.add(draft.node, draft.path, "CFG-50", what, _HINT)
        return NOBODY
    if WILDCARD in parts:
        return EVERYBODY
    if len(parts) > 1 and (parts[0].endswith(",") or (parts[0] and parts[1].startswith(","))):
        _warn_of_groups(draft, owner(), parts[-1], findings)
    users = {name for name in parts[0].split(",") if name}
    groups = {name for name in parts[-1].split(",") if name} if len(parts) > 1 else set()
    legal_users = {name for name in users if USER_NAME.fullmatch(name)}
    legal_groups = {name for name in groups if GROUP_NAME.fullmatch(name)}
    for name in sorted((users - legal_users) | (groups - legal_groups))[:3]:
        _warn(draft, owner(), name, findings)
    return AccessList(users=tuple(sorted(legal_users)), groups=tuple(sorted(legal_groups)))


def _warn_of_groups(draft: TextAt, owner: str, groups: str, findings: Findings) -> None:
    """Warn of a blank next to a comma: the names after the blank are groups. Rules: ACL-1."""
    if groups.strip(","):
        text = f"{cut(groups.strip(','))!r} behind the blank are groups in the ACL of {owner}"
        hint = "write users without a blank after a comma, or no comma before groups"
        findings.warn(draft.node, draft.path, "ACL-1", text, hint)


def _warn(draft: TextAt, owner: str, name: str, findings: Findings) -> None:
    """Warn that a name has no effect. Rules: ACL-3, ACL-5."""
    if name == WILDCARD:
        text = f"* among other names has no effect in the ACL of {owner}"
        findings.warn(draft.node, draft.path, "ACL-3", text, "write * alone for everybody")
    else:
        text = f"{cut(name)!r} is no legal name and has no effect in the ACL of {owner}"
        findings.warn(draft.node, draft.path, "ACL-5", text, "correct or remove it")
