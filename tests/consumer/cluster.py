"""A small resource manager: it runs what it is told to, and tells how that went."""

from __future__ import annotations

from pathlib import Path

from remuda import (
    Allocation,
    Amounts,
    ApplicationUpdate,
    Ask,
    Calibration,
    ChangedAsk,
    Config,
    ConfigError,
    ConfigImpact,
    DryRun,
    Explanation,
    FairShare,
    Forecast,
    Moment,
    MovedApplication,
    NodeCounts,
    Outcome,
    Placement,
    Queue,
    QueueAmount,
    QueueGone,
    Refusal,
    RejectedError,
    Rejection,
    Release,
    RemudaError,
    RequestError,
    Scheduler,
    TaskGroup,
    TerminationType,
    Victim,
    View,
    WaitingAsk,
    WaitingLine,
    WayOut,
    view,
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


def tried(found: DryRun, ways: list[WayOut]) -> str:
    """One line for what would happen, and for what would help."""
    refused: tuple[Refusal, ...] = found.refusals
    placed: tuple[Placement, ...] = found.placed
    waiting: tuple[WaitingAsk, ...] = found.waiting
    victims: tuple[Victim, ...] = found.victims
    parts = (len(refused), len(placed), len(waiting), len(victims))
    return f"{found.verdict} {parts}, {len(ways)} ways out"


def expected(found: list[Forecast]) -> str:
    """One line for when applications start, and for how good such lines were."""
    quality: Calibration = found[0].calibration if found else Calibration()
    return f"{[each.outcome for each in found]}, {quality.held} of {quality.forecasts}"


def impact(found: ConfigImpact) -> str:
    """One line for what a configuration would change."""
    gone: tuple[QueueGone, ...] = found.queues_gone
    amounts: tuple[QueueAmount, ...] = found.quotas_below_usage
    moved: tuple[MovedApplication, ...] = found.moved
    asks: tuple[ChangedAsk, ...] = found.asks
    return f"{len(gone)} go, {len(amounts)} too low, {len(moved)} move, {len(asks)} differ"


def shares(found: list[FairShare]) -> dict[str, int]:
    """What each queue has of what it is compared by, in hundredths."""
    return {each.queue: round(100 * each.share) for each in found if each.leaf}


def seen(found: View) -> list[str]:
    lines: tuple[WaitingLine, ...] = found.waiting
    return [found.title, *[f"{each.allocation_key}: {each.reason}" for each in lines]]


def past(moment: Moment) -> str:
    """What is read about a past moment."""
    waiting: list[Ask] = moment.pending()
    placed: list[Allocation] = moment.allocations()
    why = [moment.explain(ask.application_id, ask.allocation_key) for ask in waiting]
    return f"{moment.time} {moment.number} {len(placed)} {why} {shares(moment.fair_shares())}"


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
    print(tried(scheduler.dry_run("new", [Ask("new", "k", {"vcore": 500})]), []))
    print(tried(scheduler.dry_run("gang"), scheduler.ways_out(late)))
    print(expected([scheduler.forecast("gang", seeds=9), *scheduler.forecasts("root.jobs")]))
    print(impact(scheduler.config_impact(Queue("jobs"), within_seconds=1)))
    print(shares(scheduler.fork().fair_shares()))
    print(seen(view(scheduler)))
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
