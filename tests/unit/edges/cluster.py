"""A resource manager in this process and the requests it sends, for tests of that edge."""

from __future__ import annotations

import threading

from remuda.base.errors import ConfigError, Problem
from remuda.config.schema import Configuration, built_in
from remuda.edges.inproc import InProcessScheduler
from remuda.si.pb import si_pb2 as si


def load(text: str) -> Configuration:
    """Any text is the built-in configuration, except one that is bad."""
    if text == "bad":
        raise ConfigError([Problem("partitions", "CFG-1", "it is bad")])
    return built_in()


class Rm:
    """A resource manager that keeps what it is told, and what was asked meanwhile."""

    def __init__(self) -> None:
        self.log: list[str] = []
        self.placed: list[si.Allocation] = []
        self.events: list[si.EventRecord] = []
        self.threads: set[str] = set()

    def update_allocation(self, response: si.AllocationResponse) -> None:
        self.threads.add(threading.current_thread().name)
        self.placed.extend(response.new)
        self.log.extend(f"new {entry.allocationKey} on {entry.nodeID}" for entry in response.new)
        self.log.extend(f"released {entry.allocationID}" for entry in response.released)
        self.log.extend(f"rejected {entry.allocationKey}" for entry in response.rejected)

    def update_application(self, response: si.ApplicationResponse) -> None:
        self.log.extend(f"accepted {entry.applicationID}" for entry in response.accepted)
        self.log.extend(f"rejected {entry.applicationID}" for entry in response.rejected)
        self.log.extend(f"{entry.applicationID} {entry.state}" for entry in response.updated)

    def update_node(self, response: si.NodeResponse) -> None:
        self.log.extend(f"accepted {entry.nodeID}" for entry in response.accepted)
        self.log.extend(f"rejected {entry.nodeID}" for entry in response.rejected)

    def send_event(self, records: list[si.EventRecord]) -> None:
        self.events.extend(records)


def quantities(**amounts: int) -> si.Resource:
    return si.Resource(resources={name: si.Quantity(value=n) for name, n in amounts.items()})


def nodes(*names: str, vcore: int = 4_000, rm_id: str = "rm") -> si.NodeRequest:
    return si.NodeRequest(
        rmID=rm_id,
        nodes=[
            si.NodeInfo(
                nodeID=name,
                action=si.NodeInfo.CREATE,
                schedulableResource=quantities(vcore=vcore, memory=1_000_000),
            )
            for name in names
        ],
    )


def application(name: str = "a", rm_id: str = "rm") -> si.ApplicationRequest:
    ugi = si.UserGroupInformation(user="ann", groups=["bi"])
    new = si.AddApplicationRequest(applicationID=name, ugi=ugi, tags={"namespace": "dev"})
    return si.ApplicationRequest(rmID=rm_id, new=[new])


def asks(*keys: str, rm_id: str = "rm", vcore: int = 1_000) -> si.AllocationRequest:
    return si.AllocationRequest(
        rmID=rm_id,
        asks=[
            si.AllocationAsk(
                allocationKey=key,
                applicationID="a",
                resourceAsk=quantities(vcore=vcore),
                maxAllocations=1,
            )
            for key in keys
        ],
    )


def registering(rm_id: str = "rm", config: str = "") -> si.RegisterResourceManagerRequest:
    return si.RegisterResourceManagerRequest(rmID=rm_id, config=config)


def start(scheduler: InProcessScheduler, rm: Rm, *names: str) -> None:
    scheduler.register_resource_manager(registering(), rm)
    scheduler.update_node(nodes(*names))
    scheduler.update_application(application())
