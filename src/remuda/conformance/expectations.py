"""Short ways to write the elements of a scheduler's responses that a check expects."""

from __future__ import annotations

from google.protobuf.message import Message

from remuda.conformance.elements import Expected, Filled, OneOf, What
from remuda.conformance.requests import Amounts, Termination
from remuda.si.pb import si_pb2 as si


def accepted(app: str) -> Expected:
    """The application was accepted."""
    return Expected(What.ACCEPTED_APPLICATION, {"applicationID": app})


def rejected(app: str) -> Expected:
    """The application was rejected, with a reason."""
    return Expected(What.REJECTED_APPLICATION, {"applicationID": app, "reason": Filled()})


def updated(app: str, state: str, cause: str | None = None) -> Expected:
    """The application entered a state; ``cause``: the text that has to come with it."""
    message: object = Filled() if cause is None else cause
    return Expected(What.UPDATED, {"applicationID": app, "state": state, "message": message})


def node_accepted(name: str) -> Expected:
    """The node was accepted."""
    return Expected(What.ACCEPTED_NODE, {"nodeID": name})


def node_rejected(name: str) -> Expected:
    """The node, or an action on it, was rejected, with a reason."""
    return Expected(What.REJECTED_NODE, {"nodeID": name, "reason": Filled()})


def ask_rejected(app: str, key: str) -> Expected:
    """The ask was rejected, with a reason."""
    fields = {"applicationID": app, "allocationKey": key, "reason": Filled()}
    return Expected(What.REJECTED_ASK, fields)


def allocation_rejected(app: str, key: str) -> Expected:
    """The existing allocation was rejected, with a reason."""
    fields = {"applicationID": app, "allocationKey": key, "reason": Filled()}
    return Expected(What.REJECTED_ALLOCATION, fields)


def placed(
    app: str, key: str, size: Amounts, node: str | None = None, *, number: int = 0, group: str = ""
) -> Expected:
    """The ask got its allocation of this number, counted from 0.

    The identity is ``<key>-<number>``, or the key in the newer form of the interface (SI-35).
    """
    return known(app, key, size, node, OneOf((f"{key}-{number}", key)), group=group)


def placeholder_placed(
    app: str, key: str, size: Amounts, node: str | None = None, *, number: int = 0, group: str = "g"
) -> Expected:
    """The placeholder got its allocation."""
    return placed(app, key, size, node, number=number, group=group).but(placeholder=True)


def known(
    app: str,
    key: str,
    size: Amounts,
    node: str | None,
    identity: object,
    *,
    group: str = "",
) -> Expected:
    """The allocation with an identity is known: both fields of the identity, and all others."""
    fields: dict[str, object] = {
        "applicationID": app,
        "allocationKey": key,
        "UUID": identity,
        "allocationID": identity,
        "resourcePerAlloc": dict(size),
        "placeholder": False,
        "taskGroupName": group,
    }
    if node is not None:
        fields["nodeID"] = node
    return Expected(What.NEW, fields)


def released(
    app: str,
    key: str,
    type_: Termination = si.STOPPED_BY_RM,
    *,
    number: int = 0,
    identity: str = "",
) -> Expected:
    """An allocation was released, or has to be; in both fields its identity (SI-77)."""
    wanted = identity or OneOf((f"{key}-{number}", key))
    return Expected(
        What.RELEASED,
        {
            "applicationID": app,
            "allocationKey": key,
            "UUID": wanted,
            "allocationID": wanted,
            "terminationType": type_,
            "partitionName": "default",
        },
    )


def ask_dropped(app: str, key: str) -> Expected:
    """The scheduler dropped the ask (SI-70)."""
    fields = {
        "applicationID": app,
        "allocationKey": key,
        "terminationType": si.TIMEOUT,
        "partitionName": "default",
    }
    return Expected(What.RELEASED_ASK, fields)


def identity_of(allocation: Message) -> str:
    """Return the identity of a new allocation, for its release."""
    assert isinstance(allocation, si.Allocation)
    return allocation.allocationID or allocation.UUID
