"""Who an object is for: the record ``user.info`` and who may write it.

Limits and access lists of queues count the user of this record, so nobody may write another user's
name but those whom the settings trust.
"""

from __future__ import annotations

import msgspec

from remuda_kubernetes.admission.policy import Policy
from remuda_kubernetes.admission.reviews import INVALID, RefusedError, Requester
from remuda_kubernetes.objects.values import ObjectError
from remuda_kubernetes.translation import names
from remuda_kubernetes.translation.findings import shown
from remuda_kubernetes.translation.metadata import User, read_user


class _Record(msgspec.Struct, omit_defaults=True):
    user: str
    groups: tuple[str, ...] = ()


def record_of(requester: Requester) -> str:
    """Return the record of a requester. Raises: RefusedError if the scheduler could not take it."""
    text = msgspec.json.encode(_Record(requester.username, requester.groups or ())).decode()
    try:
        read_user(text)
    except ObjectError as error:
        raise RefusedError(
            f"no pod can be scheduled for this user: {error}; act as another user", INVALID
        ) from None
    return text


def check_record(text: str, requester: Requester, policy: Policy) -> None:
    """Check a record that a requester wrote.

    Raises: RefusedError if it is not to be believed, or means nothing to the scheduler.
    """
    try:
        user = read_user(text)
    except ObjectError as error:
        user, fault = None, str(error)
    else:
        fault = ""
    if user is not None and _is(user, requester):
        return
    if not policy.believes(requester):
        raise RefusedError(
            f"user {shown(requester.username)} may not write the annotation {names.USER_RECORD}: "
            "remove it, or let an administrator add the user to "
            "admissionController.accessControl.externalUsers"
        )
    if fault:
        raise RefusedError(
            f"annotation {names.USER_RECORD}: {fault}; "
            'write JSON such as {"user": "alice", "groups": ["dev"]}',
            INVALID,
        )


def _is(user: User, requester: Requester) -> bool:
    """Whether a record says what would be written for the requester, as in a second review."""
    return (user.name, set(user.groups)) == (requester.username, set(requester.groups or ()))
