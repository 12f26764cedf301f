"""Requests that change nothing and are always answered, to learn when a stream has been processed.

The scheduler processes the requests of a stream in order and sends the answers in order (SI-2,
SI-7). So when the answer to a probe arrives, the results of all earlier requests have arrived, too.
"""

from __future__ import annotations

from typing import Final

from remuda.conformance import requests
from remuda.conformance.elements import Heard, Kind, Request, What
from remuda.si.pb import si_pb2 as si

_NOWHERE: Final = "no-such-partition"

_ANSWER_OF: Final = {
    What.REJECTED_ASK: "allocationKey",
    # In the newer form of the interface (SI-111).
    What.REJECTED_ALLOCATION: "allocationKey",
    What.REJECTED_APPLICATION: "applicationID",
    What.REJECTED_NODE: "nodeID",
}


def probe(kind: Kind, number: int) -> Request:
    """Return a request for an unknown partition, which is rejected (SI-20, SI-31, NODE-1)."""
    name = _name(number)
    if kind is Kind.ALLOCATION:
        ask = requests.ask("no-such-application", name, {"vcore": 1}, partitionName=_NOWHERE)
        return si.AllocationRequest(asks=[ask])
    if kind is Kind.APPLICATION:
        return si.ApplicationRequest(new=[requests.application(name, partitionName=_NOWHERE)])
    attributes = {"si/node-partition": _NOWHERE}
    return si.NodeRequest(nodes=[requests.node(name, {"vcore": 1}, attributes=attributes)])


def answers(heard: Heard, number: int) -> bool:
    """Whether this is the answer to the probe with this number."""
    field = _ANSWER_OF.get(heard.what)
    return field is not None and getattr(heard.element, field) == _name(number)


def _name(number: int) -> str:
    return f"probe-{number}"
