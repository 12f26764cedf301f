"""The Python API decides what the in-process API decides, for the same requests.

Both are told the same story, one through calls and one through messages of the scheduler
interface; what each of them says of allocations, releases, states and refusals is compared line by
line, and so is what stops each ask that waits.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TypeAlias

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from remuda import (
    Allocation,
    Outcome,
    Queue,
    RejectedError,
    Rejection,
    Release,
    RequestError,
    Scheduler,
    TaskGroup,
)
from remuda.core.messages.application_views import ApplicationView
from remuda.core.messages.queries import ApplicationsQuery
from remuda.core.messages.rows import rows
from remuda.edges.inproc import InProcessScheduler
from remuda.si.pb import si_pb2 as si
from remuda.si.wire import resource
from tests.long_runs import usual

QUEUES = """
partitions:
  - name: default
    queues:
      - name: root
        submitacl: "*"
        queues:
          - name: a
            resources: {guaranteed: {vcore: 1}, max: {vcore: 5}}
          - name: b
            maxapplications: 2
            properties: {application.sort.policy: fair}
"""
AS_OBJECTS = [
    Queue("a", guaranteed={"vcore": "1"}, maximum={"vcore": "5"}),
    Queue("b", max_applications=2, properties={"application.sort.policy": "fair"}),
]

APPLICATIONS = st.sampled_from(["app-0", "app-1", "app-2"])
LEAVES = st.sampled_from(["root.a", "root.a", "root.b", "root.none"])
NODES = st.sampled_from(["n0", "n1", "n2"])
CORES = st.integers(1, 5)


@dataclass(frozen=True)
class AddNode:
    node: str
    cores: int


@dataclass(frozen=True)
class ChangeNode:
    node: str
    call: str


@dataclass(frozen=True)
class Submit:
    application: str
    queue: str
    members: int
    cores: int


@dataclass(frozen=True)
class Remove:
    application: str


@dataclass(frozen=True)
class Want:
    application: str
    key: str
    cores: int
    count: int
    priority: int
    grouped: bool


@dataclass(frozen=True)
class End:
    place: int


Action: TypeAlias = AddNode | ChangeNode | Submit | Remove | Want | End

ACTIONS = st.one_of(
    st.builds(AddNode, NODES, CORES),
    st.builds(ChangeNode, NODES, st.sampled_from(["drain_node", "resume_node", "remove_node"])),
    st.builds(Submit, APPLICATIONS, LEAVES, st.sampled_from([0, 0, 2]), st.integers(1, 3)),
    st.builds(Submit, APPLICATIONS, LEAVES, st.just(0), CORES),
    st.builds(Remove, APPLICATIONS),
    *[
        st.builds(
            Want,
            APPLICATIONS,
            st.sampled_from(["k0", "k1", "k2", "k3"]),
            CORES,
            st.integers(1, 3),
            st.integers(-1, 1),
            st.booleans(),
        )
        for _ in range(3)
    ],
    st.builds(End, st.integers(0, 9)),
)
# Some room and work at first, so that most of what follows makes sense.
BEGINNING: list[Action] = [
    AddNode("n0", 4),
    AddNode("n1", 3),
    Submit("app-0", "root.b", 0, 1),
    Submit("app-1", "root.a", 2, 1),
    Want("app-1", "k0", 1, 1, 0, grouped=True),
]
STORIES = st.lists(ACTIONS, min_size=8, max_size=30).map(lambda actions: [*BEGINNING, *actions])

CHANGES = {
    "drain_node": si.NodeInfo.DRAIN_NODE,
    "resume_node": si.NodeInfo.DRAIN_TO_SCHEDULABLE,
    "remove_node": si.NodeInfo.DECOMISSION,
}


class ByCalls:
    """The story through the Python API; each step of a stepped one takes a millisecond."""

    def __init__(self, *, live: bool) -> None:
        self.lines: list[str] = []
        self.running: list[Allocation] = []
        self.live = live
        self.scheduler = Scheduler(AS_OBJECTS, live=live, reservation_delay_seconds=None)
        self.scheduler.on_allocation(self._note)
        self.scheduler.on_release(self._note)
        self.scheduler.on_application(self._note)
        self.scheduler.on_rejection(self._note)

    def act(self, action: Action) -> None:
        with suppress(RejectedError):
            self._act(action)
        if self.live:
            self.scheduler.wait()
        else:
            self.scheduler.step(self.scheduler.now + 0.001)

    def _act(self, action: Action) -> None:
        scheduler = self.scheduler
        if isinstance(action, AddNode):
            scheduler.add_node(action.node, {"vcore": str(action.cores)})
        elif isinstance(action, ChangeNode):
            change: Callable[[str], None] = getattr(scheduler, action.call)
            change(action.node)
        elif isinstance(action, Submit):
            groups = [TaskGroup("g", action.members, {"vcore": str(action.cores)})]
            scheduler.submit(
                action.application,
                queue=action.queue,
                user="ada",
                task_groups=groups if action.members else (),
            )
        elif isinstance(action, Remove):
            with suppress(RequestError):
                scheduler.remove_application(action.application)
        elif isinstance(action, Want):
            scheduler.ask(
                action.application,
                action.key,
                {"vcore": action.cores * 1_000},
                max_allocations=action.count,
                priority=action.priority,
                task_group="g" if action.grouped else "",
            )
        elif action.place < len(self.running):
            scheduler.release(self.running[action.place])

    def _note(self, outcome: Outcome) -> None:
        if isinstance(outcome, Allocation):
            self.running.append(outcome)
            self.lines.append(
                f"new {outcome.application_id}/{outcome.allocation_id} on {outcome.node_id} "
                f"{dict(outcome.resource)} {outcome.placeholder} {outcome.priority}"
            )
        elif isinstance(outcome, Release):
            self.lines.append(
                f"released {outcome.application_id}/{outcome.allocation_id} "
                f"{outcome.allocation_key} {int(outcome.termination_type)}"
            )
        elif isinstance(outcome, Rejection):
            self.lines.append(f"rejected {outcome.subject} {outcome.reason}")
        else:
            self.lines.append(f"{outcome.application_id} is {outcome.state}")

    def waiting(self) -> list[str]:
        return [
            f"{ask.application_id}/{ask.allocation_key} {why.pending} {why.gate} {why.subject}"
            for ask in self.scheduler.pending()
            for why in [self.scheduler.explain(ask)]
        ]


@dataclass
class ByMessages:
    """The story through the messages of the scheduler interface."""

    scheduler: InProcessScheduler
    lines: list[str] = field(default_factory=list)
    running: list[si.Allocation] = field(default_factory=list)

    def start(self) -> None:
        request = si.RegisterResourceManagerRequest(rmID="python", config=QUEUES)
        self.scheduler.register_resource_manager(request, self)

    def act(self, action: Action) -> None:
        if isinstance(action, AddNode):
            self._node(action.node, si.NodeInfo.CREATE, action.cores)
        elif isinstance(action, ChangeNode):
            self._node(action.node, CHANGES[action.call])
        elif isinstance(action, Submit):
            self._submit(action)
        elif isinstance(action, Remove):
            gone = si.RemoveApplicationRequest(applicationID=action.application)
            request = si.ApplicationRequest(rmID="python", remove=[gone])
            self.scheduler.update_application(request)
        elif isinstance(action, Want):
            self._ask(
                applicationID=action.application,
                allocationKey=action.key,
                resourceAsk=resource({"vcore": action.cores * 1_000}),
                maxAllocations=action.count,
                priority=action.priority,
                taskGroupName="g" if action.grouped else "",
            )
        elif action.place < len(self.running):
            one = self.running[action.place]
            self._release(one.applicationID, one.allocationID, si.STOPPED_BY_RM)
        self.scheduler.wait_idle()

    def _node(self, name: str, action: si.NodeInfo.ActionFromRM.ValueType, cores: int = 0) -> None:
        node = si.NodeInfo(nodeID=name, action=action)
        if cores:
            node.schedulableResource.CopyFrom(resource({"vcore": cores * 1_000}))
        self.scheduler.update_node(si.NodeRequest(rmID="python", nodes=[node]))

    def _submit(self, action: Submit) -> None:
        new = si.AddApplicationRequest(
            applicationID=action.application,
            queueName=action.queue,
            ugi=si.UserGroupInformation(user="ada"),
        )
        if action.members:
            new.gangSchedulingStyle = "Soft"
            total = action.members * action.cores * 1_000
            new.placeholderAsk.CopyFrom(resource({"vcore": total}))
        before = len(self.lines)
        self.scheduler.update_application(si.ApplicationRequest(rmID="python", new=[new]))
        self.scheduler.wait_idle()
        if any(line.startswith("rejected") for line in self.lines[before:]):
            return
        for number in range(action.members):
            self._ask(
                applicationID=action.application,
                allocationKey=f"tg-g-{number}",
                resourceAsk=resource({"vcore": action.cores * 1_000}),
                maxAllocations=1,
                taskGroupName="g",
                placeholder=True,
            )

    def _ask(self, **fields: object) -> None:
        ask = si.AllocationAsk(**fields)  # type: ignore[arg-type]
        self.scheduler.update_allocation(si.AllocationRequest(rmID="python", asks=[ask]))

    def _release(
        self, application: str, allocation: str, kind: si.TerminationType.ValueType
    ) -> None:
        release = si.AllocationRelease(
            applicationID=application, allocationID=allocation, terminationType=kind
        )
        releases = si.AllocationReleasesRequest(allocationsToRelease=[release])
        self.scheduler.update_allocation(si.AllocationRequest(rmID="python", releases=releases))

    def update_node(self, response: si.NodeResponse) -> None:
        self.lines += [f"rejected {each.nodeID} {each.reason}" for each in response.rejected]

    def update_application(self, response: si.ApplicationResponse) -> None:
        self.lines += [f"rejected {each.applicationID} {each.reason}" for each in response.rejected]
        self.lines += [f"{each.applicationID} is {each.state}" for each in response.updated]

    def update_allocation(self, response: si.AllocationResponse) -> None:
        for one in response.new:
            self.running.append(one)
            amounts = {name: each.value for name, each in one.resourcePerAlloc.resources.items()}
            self.lines.append(
                f"new {one.applicationID}/{one.allocationID} on {one.nodeID} "
                f"{amounts} {one.placeholder} {one.priority}"
            )
        for ended in response.released:
            self.lines.append(
                f"released {ended.applicationID}/{ended.allocationID} "
                f"{ended.allocationKey} {ended.terminationType}"
            )
            if ended.terminationType != si.STOPPED_BY_RM:
                self._release(ended.applicationID, ended.allocationID, ended.terminationType)
        for dropped in response.releasedAsks:
            self.lines.append(
                f"released {dropped.applicationID}/ {dropped.allocationKey} "
                f"{dropped.terminationType}"
            )
        self.lines += [f"rejected {each.allocationKey} {each.reason}" for each in response.rejected]

    def waiting(self) -> list[str]:
        found = self.scheduler.core.query(ApplicationsQuery("default")).result()
        return [
            f"{application.application_id}/{one.allocation_key} {one.pending_count} "
            + (f"{one.finding.gate} {one.finding.subject}" if one.finding else " ")
            for application in rows(ApplicationView, found)
            for one in sorted(application.requests, key=lambda each: each.allocation_key)
        ]


@pytest.mark.remuda_rule("SI-2", "SI-4", "CYC-1")
@settings(max_examples=len(usual(range(60))))
@given(story=STORIES)
@pytest.mark.parametrize("live", [False, True], ids=["stepped", "live"])
def test_calls_and_messages_lead_to_the_same_decisions(live: bool, story: list[Action]) -> None:
    calls = ByCalls(live=live)
    with calls.scheduler, InProcessScheduler(reservation_delay_ns=None) as scheduler:
        messages = ByMessages(scheduler)
        messages.start()
        for action in story:
            calls.act(action)
            messages.act(action)
            assert calls.lines == messages.lines, action
            assert calls.waiting() == messages.waiting(), action
    for word in ("new", "released", "rejected", "is Completing"):
        if any(word in line for line in calls.lines):
            event(word)
    if any(line.endswith(f" {si.PLACEHOLDER_REPLACED}") for line in calls.lines):
        event("replaced")
