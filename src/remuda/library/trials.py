"""What would happen if: questions that are answered by trying them on a copy of the scheduler."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Literal

import msgspec

from remuda.base.duration import SECOND
from remuda.config.schema import Configuration
from remuda.core.messages import commands as c
from remuda.core.messages.application_queries import ApplicationQuery
from remuda.core.scheduler import Scheduler as Core
from remuda.insight.dry_run import DryRun, Submission, dry_run
from remuda.insight.forecast import (
    HORIZON_LIMIT_NS,
    HORIZON_NS,
    SEEDS,
    SEEDS_LEAST,
    SEEDS_LIMIT,
    Forecast,
    ForecastQuestion,
)
from remuda.insight.impact import ImpactAnswer, ImpactQuestion
from remuda.insight.impact_result import ConfigImpact
from remuda.insight.surroundings import WaysOutQuestion
from remuda.insight.ways_out import WayOut, ways_out
from remuda.library import inputs, requests
from remuda.library.engine import RM_ID
from remuda.library.errors import RequestError
from remuda.library.queues import Config, configuration_of, partition_of
from remuda.library.records import Amounts, Ask, TaskGroup
from remuda.library.running import Running, nanoseconds
from remuda.runtime.driver import AskedAt
from remuda.runtime.forks.fork import on_copies
from remuda.runtime.forks.impact import answer_impact


class Trials(Running):
    """A scheduler that can be asked what would happen; nothing that is asked changes it.

    Each question is answered by a copy of the process that ends with its answer. That takes Linux.
    """

    def dry_run(
        self,
        application_id: str,
        asks: Sequence[Ask] = (),
        *,
        queue: str = "",
        user: str = "nobody",
        groups: Iterable[str] = (),
        tags: Mapping[str, str] | None = None,
        task_groups: Sequence[TaskGroup] = (),
        gang_scheduling_style: Literal["Soft", "Hard"] = "Soft",
        config: Config | None = None,
        nodes: Mapping[str, Amounts] | None = None,
        allow_preempt_other: bool = False,
        within_seconds: float = 0.0,
    ) -> DryRun:
        """Return what would happen if an application came now with these asks; nothing changes.

        ``asks`` of an application that runs already: only they would come, and the other arguments
        of the application do not count. ``config``: queues that would be in force. ``nodes``: nodes
        that would be added before. ``allow_preempt_other``: others may be preempted for the asks.
        ``within_seconds``: how long to look ahead; no allocation ends
        meanwhile but those that the scheduler orders to end, which end at once.

        Raises: RequestError, ConfigError; RemudaError if no copy can be made now: try again.
        """
        inputs.name(application_id, "application_id")
        within_ns = nanoseconds(within_seconds, "within_seconds")
        commands: list[c.Command] = []
        if config is not None:
            commands.append(c.UpdateConfiguration(RM_ID, configuration_of(config)))
        if nodes:
            new = [requests.new_node(name, nodes[name], None, self._partition) for name in nodes]
            commands.append(c.UpdateNodes(RM_ID, tuple(new)))
        gang = requests.gang(application_id, task_groups)
        known = self._engine.view(ApplicationQuery(self._partition, application_id, rm_id=RM_ID))
        if not known:
            application = requests.new_application(
                application_id,
                queue=queue,
                user=user,
                groups=groups,
                tags=tags,
                gang=gang,
                gang_scheduling_style=gang_scheduling_style,
                execution_timeout_ms=0,
                partition=self._partition,
            )
            commands.append(c.UpdateApplications(RM_ID, (application,)))
        preempts = inputs.flag(allow_preempt_other, "allow_preempt_other")
        wanted = requests.asks(() if known else gang, self._partition)
        for each in asks:
            own = _own(each, application_id)
            wanted += (requests.ask(own, self._partition, allow_preempt_other=preempts),)
        if wanted:
            commands.append(c.UpdateAllocations(RM_ID, asks=wanted))
        submission = Submission(tuple(commands), application_id, self._partition, within_ns)
        answer = self._engine.answer_on_copy(partial(_dry_run, submission))
        return msgspec.json.decode(answer, type=DryRun)

    def config_impact(self, config: Config, *, within_seconds: float = 60.0) -> ConfigImpact:
        """Return what would differ if other queues came into force now; nothing changes.

        ``within_seconds``: how long to follow what happens under both configurations; meanwhile
        no allocation ends but those that the scheduler orders to end, which end at once.

        Raises: ConfigError with all reasons, RequestError; RemudaError if no copy can be made now.
        """
        configuration = self._configuration(config)
        within_ns = nanoseconds(within_seconds, "within_seconds")
        question = ImpactQuestion(RM_ID, configuration, within_ns)
        answer = self._engine.answer_on_copy(partial(_impact, question))
        return msgspec.json.decode(answer, type=ImpactAnswer).unless_refused("config")

    def _configuration(self, config: Config) -> Configuration:
        """Return a configuration of this partition. Raises: ConfigError, RequestError."""
        configuration = configuration_of(config)
        name = partition_of(configuration).name
        if name != self._partition:
            raise RequestError(
                f"config names partition {name!r}; that of this scheduler is {self._partition!r}"
            )
        return configuration

    def ways_out(self, ask: Ask, *, within_seconds: float = 0.0) -> list[WayOut]:
        """Return changes that would place an ask that waits, cheapest first; nothing changes.

        Each was tried on a copy: a higher limit, a smaller ask, another queue, another priority, a
        node more or one that is drained, an application that ends. ``within_seconds``: how soon
        the ask has to be placed.

        Raises: RequestError; RemudaError if the ask does not wait, or if no copy can be made now.
        """
        if not isinstance(ask, Ask):
            raise RequestError(f"{ask!r:.80} is no Ask; pass one that ask() or pending() returned")
        question = WaysOutQuestion(
            self._partition,
            inputs.name(ask.application_id, "application_id of the ask"),
            inputs.name(ask.allocation_key, "allocation_key of the ask"),
            nanoseconds(within_seconds, "within_seconds"),
        )
        answer = self._engine.answer_on_copy(partial(_ways_out, question))
        return msgspec.json.decode(answer, type=list[WayOut])

    def forecast(
        self,
        application_id: str,
        *,
        within_seconds: float = HORIZON_NS / SECOND,
        seeds: int = SEEDS,
        arrivals: bool = True,
    ) -> Forecast:
        """Return when an application that waits will start, as an interval; nothing changes.

        It is simulated ``seeds`` times on copies, for ``within_seconds`` each. What runs and waits
        ends after the run time that its tag ``remuda/runTimeSeconds`` declares, or after that of
        applications of its kind that ended. ``arrivals``: applications come as they came before;
        False: none comes. Too little is known of the run times: the outcome is ``unknown``.

        Raises: RequestError; RemudaError if there is no such application, or no copy can be made.
        """
        name = inputs.name(application_id, "application_id")
        (found,) = self._forecasts(name, "", within_seconds, seeds, arrivals=arrivals)
        return found

    def forecasts(
        self,
        queue: str = "",
        *,
        within_seconds: float = HORIZON_NS / SECOND,
        seeds: int = SEEDS,
        arrivals: bool = True,
    ) -> list[Forecast]:
        """Return forecasts of all applications that wait in a queue and below it, or anywhere.

        Those that wait longest come first, 1,000 at most. The rest is as in ``forecast``.
        """
        path = inputs.text(queue, "queue")
        return list(self._forecasts("", path, within_seconds, seeds, arrivals=arrivals))

    def _forecasts(
        self, name: str, queue: str, within: float, seeds: int, *, arrivals: bool
    ) -> tuple[Forecast, ...]:
        within_ns = nanoseconds(within, "within_seconds")
        if within_ns > HORIZON_LIMIT_NS:
            most = HORIZON_LIMIT_NS // SECOND
            raise RequestError(f"within_seconds is {within:g}; it may be {most} (30 days) at most")
        if inputs.whole(seeds, "seeds", SEEDS_LEAST) > SEEDS_LIMIT:
            raise RequestError(f"seeds is {seeds}; it may be {SEEDS_LIMIT} at most")
        question = ForecastQuestion(
            self._partition,
            name,
            queue,
            seeds=seeds,
            within_ns=within_ns,
            arrivals=inputs.flag(arrivals, "arrivals"),
            rm_id=RM_ID,
        )
        answer = self._engine.answer_on_copy(self._promises.question(question))
        return self._promises.told(question, answer).forecasts


def _own(ask: object, application_id: str) -> Ask:
    """Return an ask of the application that is tried. Raises: RequestError."""
    if not isinstance(ask, Ask) or ask.application_id != application_id:
        raise RequestError(f"{ask!r:.80} is no Ask of application {application_id!r}")
    inputs.name(ask.allocation_key, "allocation_key")
    where = f"ask {ask.allocation_key!r:.80}"
    return Ask(
        application_id,
        ask.allocation_key,
        requests.size(ask.resource, where),
        inputs.whole(ask.max_allocations, f"{where}: max_allocations", 1),
        inputs.whole(ask.priority, f"{where}: priority", inputs.INT32_MIN),
        inputs.text(ask.task_group, f"{where}: task_group"),
        ask.placeholder,
        inputs.texts(ask.tags, f"{where}: tags"),
    )


def _dry_run(submission: Submission, core: Core, at: AskedAt) -> bytes:
    return msgspec.json.encode(dry_run(core, at.now_ns, submission))


def _ways_out(question: WaysOutQuestion, core: Core, at: AskedAt) -> bytes:
    return msgspec.json.encode(ways_out(core, at.now_ns, question, on_copies))


def _impact(question: ImpactQuestion, core: Core, at: AskedAt) -> bytes:
    return answer_impact(question, core, at.now_ns)
