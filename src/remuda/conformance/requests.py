"""Short ways to write the elements of a resource manager's requests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeAlias

from remuda.si.pb import si_pb2 as si

Amounts: TypeAlias = Mapping[str, int]

# In quotes, because only the stubs have these names.
Termination: TypeAlias = "si.TerminationType.ValueType"
Action: TypeAlias = "si.NodeInfo.ActionFromRM.ValueType"

# One queue of each kind that checks need: leaves served first come, first served, so that it is
# known whose turn it is; one with a maximum; a parent that is no leaf; one for ann alone.
QUEUES: Final = """
partitions:
  - name: default
    placementrules:
      - name: provided
        create: false
    queues:
      - name: root
        submitacl: "*"
        queues:
          - name: a
            properties: {application.sort.policy: fifo}
          - name: b
            properties: {application.sort.policy: fifo}
          - name: small
            properties: {application.sort.policy: fifo}
            resources: {max: {vcore: 4}}
          - name: fair
            properties: {application.sort.policy: fair}
          - name: aware
            properties: {application.sort.policy: stateaware}
          - name: parent
            parent: true
            queues:
              - name: leaf
"""


def resource(amounts: Amounts) -> si.Resource:
    """Return amounts in base units as a message; zeros are sent."""
    return si.Resource(resources={name: si.Quantity(value=n) for name, n in amounts.items()})


def vcores(number: int) -> dict[str, int]:
    """Return whole cores in the base unit, thousandths."""
    return {"vcore": 1000 * number}


def application(name: str, queue: str = "root.a", **fields: Any) -> si.AddApplicationRequest:
    """Return an application of user ann; ``fields`` are further ones of the message."""
    fields.setdefault("ugi", si.UserGroupInformation(user="ann", groups=["staff"]))
    return si.AddApplicationRequest(applicationID=name, queueName=queue, **fields)


def gang(
    name: str, placeholders: Amounts, style: str = "Soft", *, millis: int = 0, queue: str = "root.a"
) -> si.AddApplicationRequest:
    """Return a gang application; ``millis``: its reservation timeout, 0: 15 minutes."""
    return application(
        name,
        queue,
        placeholderAsk=resource(placeholders),
        gangSchedulingStyle=style,
        executionTimeoutMilliSeconds=millis,
    )


def ask(app: str, key: str, size: Amounts, count: int = 1, **fields: Any) -> si.AllocationAsk:
    """Return an ask; ``fields`` are further ones of the message."""
    return si.AllocationAsk(
        applicationID=app,
        allocationKey=key,
        resourceAsk=resource(size),
        maxAllocations=count,
        **fields,
    )


def placeholder(app: str, key: str, size: Amounts, group: str = "g") -> si.AllocationAsk:
    """Return an ask for a placeholder of a task group."""
    return ask(app, key, size, placeholder=True, taskGroupName=group)


def existing(app: str, key: str, node: str, size: Amounts, **fields: Any) -> si.Allocation:
    """Return an allocation that runs already, with the identity ``<key>-0``."""
    fields.setdefault("UUID", f"{key}-0")
    fields.setdefault("allocationID", f"{key}-0")
    return si.Allocation(
        applicationID=app,
        allocationKey=key,
        nodeID=node,
        resourcePerAlloc=resource(size),
        **fields,
    )


def release(
    app: str,
    identity: str = "",
    type_: Termination = si.STOPPED_BY_RM,
    **fields: Any,
) -> si.AllocationRelease:
    """Return the release of one allocation, or of all of the application."""
    return si.AllocationRelease(
        applicationID=app, UUID=identity, allocationID=identity, terminationType=type_, **fields
    )


def ask_release(app: str, key: str = "", **fields: Any) -> si.AllocationAskRelease:
    """Return the release of one ask, or of all of the application."""
    fields.setdefault("terminationType", si.STOPPED_BY_RM)
    return si.AllocationAskRelease(applicationID=app, allocationKey=key, **fields)


def node(
    name: str,
    capacity: Amounts | None = None,
    action: Action = si.NodeInfo.CREATE,
    **fields: Any,
) -> si.NodeInfo:
    """Return a node with an action; ``capacity`` None: no capacity is sent."""
    if capacity is not None:
        fields["schedulableResource"] = resource(capacity)
    return si.NodeInfo(nodeID=name, action=action, **fields)
