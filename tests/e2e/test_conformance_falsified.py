"""The conformance suite notices each lie of a scheduler, and names the check that found it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import grpc
import pytest
import typer
from google.protobuf.message import Message
from typer.testing import CliRunner, Result

from remuda.base.errors import UsageError
from remuda.cli.conformance import conformance
from remuda.si.pb import extension_pb2 as ext
from remuda.si.pb import si_pb2 as si
from tests.e2e.falsifier import Falsifier, Fault, truth
from tests.e2e.serving import FREE_PORTS, Served

app = typer.Typer()
app.command()(conformance)


@pytest.fixture(scope="module")
def falsifier() -> Iterator[Falsifier]:
    with Served(*FREE_PORTS) as served, Falsifier(served.grpc) as between:
        yield between


@pytest.fixture(autouse=True)
def honest(falsifier: Falsifier) -> None:
    falsifier.honest()


def check(falsifier: Falsifier, only: str, timeout: str = "500ms") -> Result:
    arguments = ["--grpc", falsifier.address, "--only", only, "--timeout", timeout]
    return CliRunner().invoke(app, arguments)


# ------------------------------------------------------------------------------- kinds of faults


def elements(response: Message, list_: str) -> Any:
    """The list of a response, () if it is another kind of response."""
    return getattr(response, list_, ())


def dropped(list_: str) -> Fault:
    def fault(response: Any) -> list[Any]:
        if elements(response, list_):
            response.ClearField(list_)
        return [response]

    return fault


def doubled(list_: str) -> Fault:
    def fault(response: Any) -> list[Any]:
        found = elements(response, list_)
        if found:
            found.extend(list(found))
        return [response]

    return fault


def altered(list_: str, alter: Callable[[Any], object]) -> Fault:
    def fault(response: Any) -> list[Any]:
        for element in elements(response, list_):
            alter(element)
        return [response]

    return fault


def setting(list_: str, field: str, value: object) -> Fault:
    return altered(list_, lambda element: setattr(element, field, value))


def without(list_: str, field: str) -> Fault:
    return altered(list_, lambda element: element.ClearField(field))


def moved(list_: str, target: str, *fields: str) -> Fault:
    """Say it with the opposite verdict."""

    def fault(response: Any) -> list[Any]:
        for element in list(elements(response, list_)):
            getattr(response, target).add(**{field: getattr(element, field) for field in fields})
        if elements(response, list_):
            response.ClearField(list_)
        return [response]

    return fault


def apart(list_: str) -> Fault:
    """Say it in as many responses as there are elements."""

    def fault(response: Any) -> list[Any]:
        found = list(elements(response, list_))
        if not found:
            return [response]
        parts = [type(response)() for _ in found]
        for part, element in zip(parts, found, strict=True):
            getattr(part, list_).append(element)
        return parts

    return fault


def swapped(list_: str) -> Fault:
    """Say the second before the first; both sides of the pair are of one application."""
    held: dict[str, Any] = {}
    lock = threading.Lock()

    def fault(response: Any) -> list[Any]:
        found = elements(response, list_)
        if not found or found[0].applicationID.startswith("fence"):
            return [response]
        with lock:
            earlier = held.pop("one", None)
            if earlier is None:
                held["one"] = response
                return []
        return [response, earlier]

    return fault


# Check -> a fault of a message that it must notice.
FAULTS: list[tuple[str, str, Fault]] = [
    ("applications.accepted", "accepted dropped", dropped("accepted")),
    ("applications.accepted", "accepted doubled", doubled("accepted")),
    ("applications.accepted", "accepted for another", setting("accepted", "applicationID", "x")),
    (
        "applications.accepted",
        "accepted as rejected",
        moved("accepted", "rejected", "applicationID"),
    ),
    ("applications.partition", "rejected dropped", dropped("rejected")),
    ("applications.partition", "rejected doubled", doubled("rejected")),
    ("applications.partition", "rejected without reason", without("rejected", "reason")),
    (
        "applications.partition",
        "rejected as accepted",
        moved("rejected", "accepted", "applicationID"),
    ),
    ("processing.verdicts-together", "verdicts apart", apart("accepted")),
    ("states.running", "updated dropped", dropped("updated")),
    ("states.running", "updated doubled", doubled("updated")),
    ("states.running", "updated with another state", setting("updated", "state", "Running")),
    ("states.running", "updated for another", setting("updated", "applicationID", "x")),
    ("states.running", "updated without a cause", without("updated", "message")),
    ("states.running", "updated in another order", swapped("updated")),
    ("processing.times", "updated in seconds", setting("updated", "stateTransitionTimestamp", 9)),
    ("asks.several", "new dropped", dropped("new")),
    ("asks.several", "new doubled", doubled("new")),
    ("asks.several", "new without UUID", without("new", "UUID")),
    ("asks.several", "new without allocationID", without("new", "allocationID")),
    ("asks.several", "new with another key", setting("new", "allocationKey", "x")),
    ("asks.several", "new for another", setting("new", "applicationID", "x")),
    ("asks.several", "new on another node", setting("new", "nodeID", "x")),
    ("asks.several", "new without a size", without("new", "resourcePerAlloc")),
    ("asks.several", "new as a placeholder", setting("new", "placeholder", True)),
    ("asks.several", "new with a group", setting("new", "taskGroupName", "x")),
    ("asks.identities", "new of one identity", setting("new", "allocationID", "k")),
    ("existing.accepted", "new with another identity", setting("new", "UUID", "x")),
    ("processing.complete-allocation", "new not original", without("new", "originator")),
    ("processing.complete-allocation", "new without policy", without("new", "preemptionPolicy")),
    ("processing.replayable-allocation", "new without priority", without("new", "priority")),
    ("processing.replayable-allocation", "new without tags", without("new", "allocationTags")),
    ("partitions.plain-names", "new of [rm]default", setting("new", "partitionName", "[x]a")),
    ("releases.allocation", "released dropped", dropped("released")),
    ("releases.allocation", "released doubled", doubled("released")),
    (
        "releases.allocation",
        "released of another type",
        setting("released", "terminationType", si.TIMEOUT),
    ),
    ("releases.allocation", "released without UUID", without("released", "UUID")),
    ("releases.allocation", "released without allocationID", without("released", "allocationID")),
    ("releases.allocation", "released without key", without("released", "allocationKey")),
    ("releases.allocation", "released nowhere", without("released", "partitionName")),
    ("releases.all", "released apart", apart("released")),
    ("applications.removed", "released apart", apart("released")),
    ("asks.no-application", "rejected ask dropped", dropped("rejected")),
    ("asks.no-application", "rejected ask doubled", doubled("rejected")),
    ("asks.no-application", "rejected ask without reason", without("rejected", "reason")),
    ("asks.no-application", "rejected ask of another", setting("rejected", "applicationID", "x")),
    ("processing.neighbours", "rejected asks apart", apart("rejected")),
    ("existing.rejected", "rejected allocation dropped", dropped("rejectedAllocations")),
    ("existing.rejected", "rejected allocation doubled", doubled("rejectedAllocations")),
    (
        "existing.rejected",
        "rejected allocation with another key",
        setting("rejectedAllocations", "allocationKey", "x"),
    ),
    (
        "existing.rejected",
        "rejected allocation as rejected ask",
        moved("rejectedAllocations", "rejected", "allocationKey", "applicationID", "reason"),
    ),
    ("gang.normal", "placeholder as a real one", setting("new", "placeholder", False)),
    ("gang.normal", "new without its group", without("new", "taskGroupName")),
    ("gang.normal", "order to replace dropped", dropped("released")),
    ("gang.normal", "order to replace doubled", doubled("released")),
    (
        "gang.normal",
        "order to replace as one to end",
        setting("released", "terminationType", si.TIMEOUT),
    ),
    ("gang-end.hard", "dropped ask not told", dropped("releasedAsks")),
    ("gang-end.hard", "dropped ask told twice", doubled("releasedAsks")),
    (
        "gang-end.hard",
        "dropped ask with another key",
        setting("releasedAsks", "allocationKey", "x"),
    ),
    (
        "gang-end.hard",
        "dropped ask of another type",
        setting("releasedAsks", "terminationType", si.STOPPED_BY_RM),
    ),
    ("gang-end.hard", "another cause", setting("updated", "message", "timeout")),
    ("gang-end.hard", "Failed dropped", dropped("updated")),
    ("nodes.create", "accepted node dropped", dropped("accepted")),
    ("nodes.create", "accepted node doubled", doubled("accepted")),
    ("nodes.create", "accepted node with another name", setting("accepted", "nodeID", "x")),
    ("nodes.partition", "rejected node dropped", dropped("rejected")),
    ("nodes.partition", "rejected node doubled", doubled("rejected")),
    ("nodes.partition", "rejected node as accepted", moved("rejected", "accepted", "nodeID")),
]


def of_stream(response: Message, check: str) -> bool:
    """Accepted and rejected exist for applications and for nodes; mean those of the check."""
    if isinstance(response, si.NodeResponse):
        return check.startswith("nodes.")
    if isinstance(response, si.ApplicationResponse):
        return not check.startswith(("nodes.", "asks.", "processing.neighbours"))
    return True


@pytest.mark.parametrize("check_", sorted({name for name, _, _ in FAULTS}))
def test_without_a_fault_the_check_passes(falsifier: Falsifier, check_: str) -> None:
    done = check(falsifier, check_, "10s")
    assert done.exit_code == 0, done.stdout
    assert "1 check in " in done.stdout


@pytest.mark.parametrize(
    "check_,fault", [pytest.param(c, f, id=f"{c}: {told}") for c, told, f in FAULTS]
)
def test_a_fault_is_found(falsifier: Falsifier, check_: str, fault: Fault) -> None:
    falsifier.fault = lambda response: (
        fault(response) if of_stream(response, check_) else truth(response)
    )
    done = check(falsifier, check_)
    assert done.exit_code == 1, done.stdout
    assert f"failed: {check_}\n" in done.stdout
    story = [line.split()[0] for line in done.stdout.splitlines() if line.startswith("      ")]
    assert [word for word in ("rule", "sent", "expected", "came") if word not in story] == []


# ------------------------------------------------------------------------------- statuses


def always(wanted: grpc.StatusCode) -> Callable[[grpc.StatusCode], grpc.StatusCode]:
    return lambda code: wanted


@pytest.mark.parametrize(
    "check_,code",
    [
        ("registration.empty-id", grpc.StatusCode.OK),
        ("registration.bad-id", grpc.StatusCode.OK),
        ("registration.bad-config", grpc.StatusCode.INTERNAL),
        ("registration.first", grpc.StatusCode.OK),
        ("registration.again-in-vain", grpc.StatusCode.OK),
        ("registration.old-streams", grpc.StatusCode.CANCELLED),
        ("streams.unknown", grpc.StatusCode.INVALID_ARGUMENT),
        ("streams.nobody", grpc.StatusCode.FAILED_PRECONDITION),
        ("streams.another", grpc.StatusCode.OK),
        ("streams.takeover", grpc.StatusCode.OK),
    ],
)
def test_a_wrong_status_is_found(falsifier: Falsifier, check_: str, code: grpc.StatusCode) -> None:
    assert check(falsifier, check_, "10s").exit_code == 0
    falsifier.status = always(code)
    done = check(falsifier, check_)
    assert done.exit_code == 1, done.stdout
    assert f"failed: {check_}\n" in done.stdout


def test_a_wrong_answer_of_the_extension_is_found(falsifier: Falsifier) -> None:
    def miscount(response: Any) -> list[Any]:
        if isinstance(response, ext.UnregisterResponse):
            response.removed_nodes += 1
        return [response]

    falsifier.fault = miscount
    done = check(falsifier, "registration.unregister")
    assert done.exit_code == 1
    assert "removed_nodes: 3" in done.stdout


# ------------------------------------------------------------------------------- what is not there


def test_without_the_extension_its_checks_are_not_applicable(falsifier: Falsifier) -> None:
    falsifier.hidden = "remuda.v1"
    done = check(falsifier, "registration.*", "10s")
    assert done.exit_code == 0, done.stdout
    assert "serves si.v1.Scheduler; no REST address given" in done.stdout
    (line,) = [line for line in done.stdout.splitlines() if " unregister " in line]
    assert line.startswith("  n/a ")
    assert "(remuda.v1 is not served)" in line


def test_one_call_that_is_not_served_is_not_applicable(falsifier: Falsifier) -> None:
    falsifier.hidden = "UpdateConfiguration"
    done = check(falsifier, "applications.draining-queue")
    assert isinstance(done.exception, UsageError)
    assert "UpdateConfigurationRequest is not served" in str(done.exception)


@pytest.mark.remuda_rule("SI-35")
def test_the_newer_form_of_identities_is_taken(falsifier: Falsifier) -> None:
    """Of a scheduler that calls an allocation by its key, as later ones do."""

    def outwards(response: Any) -> list[Any]:
        for list_ in ("new", "released"):
            for each in elements(response, list_):
                each.UUID = each.allocationID = each.allocationKey
        return [response]

    def inwards(request: Any) -> list[Any]:
        for each in getattr(getattr(request, "releases", None), "allocationsToRelease", ()):
            if each.UUID and not each.UUID.endswith("-0"):
                each.UUID = each.allocationID = f"{each.UUID}-0"
        return [request]

    falsifier.fault, falsifier.asked = outwards, inwards
    for name in ("nodes.drain", "asks.completing", "states.first-ask", "gang.full-queue"):
        done = check(falsifier, name, "10s")
        assert done.exit_code == 0, done.stdout


def test_a_scheduler_that_answers_nothing_fails_within_bounded_time(falsifier: Falsifier) -> None:
    falsifier.fault = lambda response: (
        [response]
        if isinstance(response, si.RegisterResourceManagerResponse | ext.Capabilities)
        else [type(response)()]
    )
    done = check(falsifier, "nodes", "100ms")
    assert done.exit_code == 1
    assert " 0 passed" in done.stdout
    assert "nothing within 0.1 s" in done.stdout
