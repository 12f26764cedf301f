"""The scheduler of the Python API.

    from remuda import Scheduler

    scheduler = Scheduler()
    scheduler.add_node("node-1", {"vcore": "4", "memory": "8Gi"})
    scheduler.submit("job", user="ada", tags={"namespace": "science"})
    ask = scheduler.ask("job", "task", {"vcore": "1500m"}, max_allocations=3)
    for outcome in scheduler.step():
        print(outcome)
    print(scheduler.explain(ask))

It is a resource manager of its own, and its words are those of the scheduler interface.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Literal

from remuda.config.settings import RESERVATION_DELAY_NS
from remuda.core.messages import commands as c
from remuda.insight.explanation import Explanation
from remuda.library import inputs, requests, views
from remuda.library.engine import RM_ID
from remuda.library.errors import RejectedError, RequestError
from remuda.library.queues import Config, configuration_of, partition_of
from remuda.library.records import Allocation, Amounts, Ask, FairShare, Release, TaskGroup
from remuda.library.stepped import SECOND_NS
from remuda.library.trials import Trials


class Scheduler(Trials):
    """A scheduler for one resource manager: your program.

    By default the scheduler acts only in ``step``, at the time you give: the same calls have the
    same outcomes, every time. With ``live=True`` it acts by itself, on a thread of its own and by
    the machine's clock; then ``wait`` takes the place of ``step``.

    Args:
        config: queues: the text of a queue file, a ``Path`` to one, ``Queue`` objects; by default
            every namespace (tag ``namespace`` of an application) gets a queue of its own.
        live: whether it has a thread and a clock of its own.
        confirm: whether an allocation that the scheduler orders to end counts as ended as soon as
            the callbacks of ``on_release`` return. False: call ``confirm`` when it has ended.
        reservation_delay_seconds: how old an ask must be to reserve a node, None: never.
        record: file to record all inputs to, for ``remuda replay``.

    Callbacks are called in the order of the decisions, and may make requests. A stepped scheduler
    calls them on your thread and passes on what they raise. A live one calls them on its own thread
    and logs what they raise; there requests do not wait for their answer, and ``on_rejection``
    hears of those that are refused.

    Raises: ConfigError, RequestError.
    """

    def __init__(
        self,
        config: Config = "",
        *,
        live: bool = False,
        confirm: bool = True,
        reservation_delay_seconds: float | None = RESERVATION_DELAY_NS / SECOND_NS,
        record: Path | None = None,
    ) -> None:
        configuration = configuration_of(config)
        super().__init__(
            configuration,
            partition_of(configuration).name,
            live=inputs.flag(live, "live"),
            confirms=inputs.flag(confirm, "confirm"),
            record=inputs.file(record, "record"),
            reservation_delay_seconds=reservation_delay_seconds,
        )

    def fork(self) -> Scheduler:
        """Return an independent scheduler with the same state, at the same time, to try things on.

        What is done to one of the two never shows in the other. The fork has no callbacks and makes
        no recording. What was not returned by ``step`` yet, both return.

        Raises: RequestError if the scheduler is live, or if a callback calls it.
        """
        stepped = self._stepped("fork")
        if self._in_step:
            raise RequestError("fork was called by a callback; call it between two steps")
        fork = object.__new__(Scheduler)
        Trials.__init__(
            fork,
            stepped.configuration,
            self._partition,
            live=False,
            confirms=self._confirms,
            record=None,
            reservation_delay_seconds=None,
            origin=stepped,
            unreported=self._unreported,
        )
        return fork

    # ------------------------------------------------------------------------------ the cluster

    def update_configuration(self, config: Config) -> None:
        """Replace the queues while everything runs, or change nothing.

        Raises: ConfigError with all reasons; RequestError.
        """
        self._engine.configure(self._configuration(config))

    def add_node(
        self, node_id: str, resource: Amounts, *, attributes: Mapping[str, str] | None = None
    ) -> None:
        """Add a node with what it has. Raises: RequestError, RejectedError."""
        node = requests.new_node(node_id, resource, attributes, self._partition)
        self._send(c.UpdateNodes(RM_ID, (node,)))

    def add_nodes(self, nodes: Mapping[str, Amounts]) -> None:
        """Add nodes, by ID. Raises: RequestError, and none is added; RejectedError."""
        if not isinstance(nodes, Mapping):
            raise RequestError(f"nodes is {nodes!r:.80}; it has to be a mapping of ID to resource")
        new = [requests.new_node(name, nodes[name], None, self._partition) for name in nodes]
        self._send(c.UpdateNodes(RM_ID, tuple(new)))

    def drain_node(self, node_id: str) -> None:
        """Place nothing more on a node; what runs there stays. Raises: RejectedError."""
        self._send(requests.node_action(node_id, c.DRAIN_NODE, self._partition))

    def resume_node(self, node_id: str) -> None:
        """Use a drained node again. Raises: RejectedError."""
        self._send(requests.node_action(node_id, c.DRAIN_TO_SCHEDULABLE, self._partition))

    def remove_node(self, node_id: str) -> None:
        """Take a node away, with all that runs on it. Raises: RejectedError."""
        self._send(requests.node_action(node_id, c.DECOMISSION, self._partition))

    # --------------------------------------------------------------------------------- the work

    def submit(
        self,
        application_id: str,
        *,
        queue: str = "",
        user: str = "nobody",
        groups: Iterable[str] = (),
        tags: Mapping[str, str] | None = None,
        task_groups: Sequence[TaskGroup] = (),
        gang_scheduling_style: Literal["Soft", "Hard"] = "Soft",
        execution_timeout_ms: int = 0,
    ) -> None:
        """Add an application to a queue.

        ``task_groups`` make it a gang: a placeholder is asked for each member, and real asks with
        the name of the group take their places when all of them are there. If they are not within
        ``execution_timeout_ms`` (0: 15 minutes), a ``Hard`` gang fails and a ``Soft`` one goes on
        as an ordinary application.

        Raises: RequestError, RejectedError; then nothing was added.
        """
        gang = requests.gang(application_id, task_groups)
        new = requests.new_application(
            application_id,
            queue=queue,
            user=user,
            groups=groups,
            tags=tags,
            gang=gang,
            gang_scheduling_style=gang_scheduling_style,
            execution_timeout_ms=execution_timeout_ms,
            partition=self._partition,
        )
        self._send(c.UpdateApplications(RM_ID, new=(new,)))
        if gang:
            try:
                asks = requests.asks(gang, self._partition)
                self._send(c.UpdateAllocations(RM_ID, asks=asks))
            except RejectedError:
                self.remove_application(application_id)
                raise

    def remove_application(self, application_id: str) -> None:
        """Remove an application with all its asks and allocations; one that has ended is ignored.

        Raises: RequestError if it is not known: it was never submitted, or removed before.
        """
        inputs.name(application_id, "application_id")
        engine = self._engine
        if engine.may_wait and not views.known(engine.view, self._partition, application_id):
            raise RequestError(
                f"application {application_id!r} is not known; submit it first, or check the ID"
            )
        removal = c.ApplicationRemoval(application_id, self._partition)
        self._send(c.UpdateApplications(RM_ID, remove=(removal,)))

    def ask(
        self,
        application_id: str,
        allocation_key: str,
        resource: Amounts,
        *,
        max_allocations: int = 1,
        priority: int = 0,
        task_group: str = "",
        tags: Mapping[str, str] | None = None,
        allow_preempt_self: bool = True,
        allow_preempt_other: bool = False,
        execution_timeout_ms: int = 0,
    ) -> Ask:
        """Ask for allocations of the same size; the same key again changes what was asked for.

        ``allow_preempt_self``: they may be preempted; ``allow_preempt_other``: others may for them.

        Raises: RequestError, RejectedError.
        """
        where = f"ask {allocation_key!r:.80}"
        wanted = Ask(
            inputs.name(application_id, f"{where}: application_id"),
            inputs.name(allocation_key, "allocation_key"),
            requests.size(resource, where),
            inputs.whole(max_allocations, f"{where}: max_allocations", 1),
            inputs.whole(priority, f"{where}: priority", inputs.INT32_MIN),
            inputs.text(task_group, f"{where}: task_group"),
            tags=inputs.texts(tags, f"{where}: tags"),
        )
        message = requests.ask(
            wanted,
            self._partition,
            allow_preempt_self=inputs.flag(allow_preempt_self, f"{where}: allow_preempt_self"),
            allow_preempt_other=inputs.flag(allow_preempt_other, f"{where}: allow_preempt_other"),
            execution_timeout_ms=inputs.whole(
                execution_timeout_ms, f"{where}: execution_timeout_ms", 0, inputs.INT64_MAX
            ),
        )
        self._send(c.UpdateAllocations(RM_ID, asks=(message,)))
        return wanted

    def release(self, ended: Allocation | Ask) -> None:
        """End an allocation, or drop the pending part of an ask; one that is gone is ignored.

        Raises: RequestError.
        """
        self._send(requests.release(ended, self._partition))

    def confirm(self, order: Release) -> None:
        """Confirm that an allocation with a release request has ended.

        A repeated call has no effect.

        Raises: RequestError.
        """
        self._send(requests.confirmation(order, self._partition))

    # -------------------------------------------------------------------------------- questions

    def pending(self, application_id: str = "") -> list[Ask]:
        """Return the asks that wait, of one application or of all, by application and key.

        The ``max_allocations`` of each is the number that is not placed yet. Raises: RequestError.
        """
        inputs.text(application_id, "application_id")
        return views.pending(self._engine.view, self._partition, application_id)

    def allocations(self, application_id: str = "") -> list[Allocation]:
        """Return the allocations of one application, or of all, by application and ID.

        Raises: RequestError.
        """
        inputs.text(application_id, "application_id")
        return views.allocations(self._engine.view, self._partition, application_id)

    def fair_shares(self) -> list[FairShare]:
        """Return what each queue uses, is guaranteed and is owed, by path."""
        return views.fair_shares(self._engine.view, self._partition)

    def explain(self, ask: Ask) -> Explanation:
        """Return why an ask waits, or that it does not wait; ``print`` shows it in sentences.

        Raises: RequestError.
        """
        return views.explanation(self._engine.view, self._partition, ask, self._engine.now_ns())
