"""A small resource manager: it runs what it is told to, and tells how that went."""

from __future__ import annotations

from pathlib import Path

from remuda import (
    Allocation,
    Amounts,
    ApplicationUpdate,
    Ask,
    Config,
    ConfigError,
    Explanation,
    NodeCounts,
    Outcome,
    Queue,
    RejectedError,
    Rejection,
    Release,
    RemudaError,
    RequestError,
    Scheduler,
    TaskGroup,
    TerminationType,
)


class Cluster:
    """What runs where, and what went wrong."""

    def __init__(self, config: Config, *, live: bool = False, record: Path | None = None) -> None:
        self.running: dict[str, Allocation] = {}
        self.ended: list[tuple[str, TerminationType]] = []
        self.states: list[str] = []
        self.refused: list[Rejection] = []
        self.scheduler = Scheduler(
            config, live=live, confirm=False, reservation_delay_seconds=None, record=record
        )
        self.scheduler.on_allocation(self.start)
        self.scheduler.on_release(self.end)
        self.scheduler.on_application(self.enter)
        self.scheduler.on_rejection(self.refused.append)

    def start(self, allocation: Allocation) -> None:
        self.running[allocation.allocation_id] = allocation

    def end(self, release: Release) -> None:
        self.running.pop(release.allocation_id, None)
        self.ended.append((release.allocation_id, release.termination_type))
        if release.ordered:
            self.scheduler.confirm(release)

    def enter(self, update: ApplicationUpdate) -> None:
        self.states.append(f"{update.application_id} {update.state}")


def told(outcome: Outcome) -> str:
    """One line for whatever may happen."""
    if isinstance(outcome, Allocation):
        return f"{outcome.allocation_id} on {outcome.node_id}"
    if isinstance(outcome, Release):
        return f"{outcome.allocation_id} ends: {outcome.termination_type.name}"
    if isinstance(outcome, Rejection):
        return str(outcome)
    return f"{outcome.application_id} is {outcome.state}"


def nodes_of(why: Explanation) -> NodeCounts:
    return why.nodes or NodeCounts(0)


def failed(config: Config) -> str:
    try:
        Scheduler(config)
    except ConfigError as error:
        return f"{len(error.problems)} faults"
    except RemudaError as error:
        return str(error)
    return ""


def main() -> None:
    size: Amounts = {"vcore": "2", "memory": 2**30}
    cluster = Cluster([Queue("jobs", maximum={"vcore": "6"})])
    scheduler = cluster.scheduler
    scheduler.add_node("n1", {"vcore": "4", "memory": "4Gi"}, attributes={"rack": "1"})
    scheduler.add_nodes({"n2": {"vcore": "4", "memory": "4Gi"}})
    scheduler.submit("gang", queue="root.jobs", task_groups=[TaskGroup("g", 2, size)])
    for line in map(told, scheduler.step()):
        print(line)
    real: Ask = scheduler.ask("gang", "real", size, task_group="g")
    late = scheduler.ask("gang", "late", {"vcore": "4"}, priority=-1)
    scheduler.step(scheduler.now + 1.5)
    print([each.allocation_key for each in scheduler.allocations("gang")], scheduler.now)
    print(scheduler.explain(real))
    print(scheduler.explain(late).gate, nodes_of(scheduler.explain(late)).total)
    try:
        scheduler.drain_node("n3")
    except RejectedError as error:
        print([each.subject for each in error.rejections])
    try:
        scheduler.release(late)
        scheduler.ask("gang", "", size)
    except RequestError as error:
        print(error)
    scheduler.drain_node("n2")
    scheduler.resume_node("n2")
    scheduler.update_configuration(Queue("jobs", maximum={"vcore": "8"}))
    for allocation in list(cluster.running.values()):
        scheduler.release(allocation)
    scheduler.step()
    scheduler.remove_application("gang")
    scheduler.remove_node("n1")
    scheduler.step(60)
    print(scheduler.pending(), cluster.running, cluster.states[-1])
    print(failed("partitions: {}"), "|", failed([]))
    scheduler.stop()
    with Cluster(Queue("jobs"), live=True).scheduler as live:
        live.add_node("n1", size)
        live.submit("job", queue="root.jobs")
        live.ask("job", "task", size)
        live.wait(timeout_seconds=30)
        print([each.node_id for each in live.allocations()])


if __name__ == "__main__":
    main()
