"""Checks which users may use a queue (rules: ACL-7, chapter 30 section 3).

Access lists only grant access: what a queue grants, its descendants cannot deny. So a check walks
from the queue to root until one queue grants access.
"""

from __future__ import annotations

from collections.abc import Sequence

from remuda.config.schema import RECOVERY_QUEUE
from remuda.core.model.queues.queue import Access, Queue


def may_submit(queue: Queue, user: str, groups: Sequence[str]) -> bool:
    """Whether a user may submit applications to a queue, or to queues to be created below it.

    The user needs submit or admin access to the queue or an ancestor. Implements: ACL-10, ACL-12,
    ACL-13, PLC-73.
    """
    if queue.path == RECOVERY_QUEUE:
        return False
    for each in queue.path_up:
        if _lets_in(each.submit_access, user, groups) or _lets_in(each.admin_access, user, groups):
            return True
    return False


def may_administer(queue: Queue, user: str, groups: Sequence[str]) -> bool:
    """Whether a user has admin access to a queue or an ancestor. Implements: ACL-11."""
    for each in queue.path_up:
        if _lets_in(each.admin_access, user, groups):
            return True
    return False


def _lets_in(access: Access, user: str, groups: Sequence[str]) -> bool:
    """Whether a list names the user or a group; the empty user never matches. Implements: ACL-7."""
    if access.everybody or (user and user in access.users):
        return True
    for group in groups:
        if group in access.groups:
            return True
    return False
