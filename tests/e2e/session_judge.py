"""A resource manager that answers predicate calls of a session by hand."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from remuda.edges.grpc.settings import GrpcSettings
from remuda.si.pb import extension_pb2 as ext
from remuda.si.pb import si_pb2 as si
from tests.e2e.grpc_service import Service
from tests.e2e.session_stream import SessionStream

ASKED = ("responses", "predicates")
Result = ext.NodesPredicatesItemResult
# Long enough for the slowest machine, so that only tests of the budget see it run out.
PATIENT = GrpcSettings(predicate_budget_ms=20_000)


class Judge(SessionStream):
    """A resource manager that answers by hand."""

    def start(self, *nodes: str, features: Iterable[str] = ASKED, **other: Any) -> ext.Welcome:
        welcome = self.register(features=features, **other)
        self.nodes(*nodes)
        self.app()
        return welcome

    def call(self) -> ext.NodesPredicates:
        return self.until("nodes_predicates").nodes_predicates

    def answer(self, call: ext.NodesPredicates, *items: Result, applied: int | None = None) -> None:
        result = ext.NodesPredicatesResult(
            call_id=call.call_id,
            applied_seq=self.got if applied is None else applied,
            items=items,
        )
        self.send(nodes_predicates=result)

    def accept(self, call: ext.NodesPredicates, index: int = 0) -> None:
        """All candidates before ``index`` are refused, that one passes."""
        self.answer(call, *[fits(index) for _ in call.items])


def fits(index: int, reason: str = "tainted") -> Result:
    failures = [ext.PredicateFailure(reason=reason, candidates=range(index), count=index)]
    return Result(
        status=Result.EVALUATED,
        fit=[index],
        evaluated=index + 1,
        failures=failures if index else [],
    )


def refuses(count: int, reason: str = "tainted") -> Result:
    failure = ext.PredicateFailure(reason=reason, count=count)
    return Result(status=Result.EVALUATED, evaluated=count, failures=[failure])


def cause_of(service: Service) -> tuple[str, str]:
    status = service.core.roster.find("rm")
    assert status is not None
    return status.state.value, status.cause


def waiting(service: Service) -> int:
    return service.server._traffic("rm").queued


def node_request(name: str) -> si.NodeRequest:
    size = si.Resource(resources={"vcore": si.Quantity(value=10)})
    info = si.NodeInfo(nodeID=name, action=si.NodeInfo.CREATE, schedulableResource=size)
    return si.NodeRequest(nodes=[info], rmID="rm")


def application_request() -> si.ApplicationRequest:
    ugi = si.UserGroupInformation(user="ann", groups=["g"])
    new = si.AddApplicationRequest(applicationID="app", queueName="root.a", ugi=ugi)
    return si.ApplicationRequest(new=[new], rmID="rm")


def ask_request(key: str) -> si.AllocationRequest:
    size = si.Resource(resources={"vcore": si.Quantity(value=1)})
    ask = si.AllocationAsk(
        applicationID="app", allocationKey=key, resourceAsk=size, maxAllocations=1
    )
    return si.AllocationRequest(asks=[ask], rmID="rm")
