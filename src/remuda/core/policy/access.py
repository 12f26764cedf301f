"""Who may use a queue (rules: ACL-7, ACL-10 to ACL-14).

What is allowed above can never be taken away below, so a check walks from the queue to root until
somebody lets the user in. There are no entries that deny.
"""

from __future__ import annotations

from collections.abc import Sequence

from remuda.config.schema import RECOVERY_QUEUE
from remuda.core.model.queue import Access, Queue


def may_submit(queue: Queue, user: str, groups: Sequence[str]) -> bool:
    """Whether a user may submit applications to a queue, or below it where nothing exists yet.

    Submit or admin access of the queue or of one above. Rules: ACL-10, ACL-12, ACL-13, PLC-73.
    """
    if queue.path == RECOVERY_QUEUE:
        return False
    for each in queue.path_up:
        if _lets_in(each.submit_access, user, groups) or _lets_in(each.admin_access, user, groups):
            return True
    return False


def may_administer(queue: Queue, user: str, groups: Sequence[str]) -> bool:
    """Whether a user may administer a queue: its admin access or one above. Rules: ACL-11."""
    for each in queue.path_up:
        if _lets_in(each.admin_access, user, groups):
            return True
    return False


def _lets_in(access: Access, user: str, groups: Sequence[str]) -> bool:
    """Whether one list names the user or a group; none names the empty user. Rules: ACL-7."""
    if access.everybody or (user and user in access.users):
        return True
    for group in groups:
        if group in access.groups:
            return True
    return False
