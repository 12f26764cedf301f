"""A client for questions about what waits and what would happen; see ``remuda.client``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeVar

import grpc

from remuda.connection.calls import Connection
from remuda.connection.channel import ClientError, Security
from remuda.si.pb import extension_pb2 as ext
from remuda.si.pb.extension_pb2_grpc import InsightStub
from remuda.si.wire import resource

Q = TypeVar("Q")
A = TypeVar("A")


class Insight(Connection):
    """Questions to one scheduler: why something waits, what would help, what would happen, when.

    Args:
        address: HOST:PORT of the scheduler's gRPC listener, or several with commas between them,
            of which the first that answers is asked.
        rm_id, partition: what the questions are about; by default the first resource manager by ID
            that has the partition, and the only partition.
        timeout: seconds that a call waits for its answer at most; the scheduler gives up after 30.
        security: files for TLS, and a token; by default neither.

    Answers are the messages of ``remuda.v1.Insight``. Each call raises ClientError with one line if
    the question is not answered: something is not there, the caller may not read about it, or the
    scheduler has no room for the question now. Times are in seconds, amounts in base units.
    Implements: EXT-126.
    """

    def __init__(
        self,
        address: str,
        *,
        rm_id: str = "",
        partition: str = "",
        timeout: float = 60.0,
        security: Security | None = None,
    ) -> None:
        super().__init__(address, timeout, security)
        self.rm_id = rm_id
        self.partition = partition

    def explain(self, application_id: str, allocation_key: str) -> ext.AskExplanation:
        """Return why an ask waits, or that it does not. Raises: ClientError."""
        request = ext.ExplainRequest(
            rm_id=self.rm_id,
            partition=self.partition,
            application_id=application_id,
            allocation_key=allocation_key,
        )
        return self._ask(lambda stub: stub.Explain, request)

    def ways_out(
        self, application_id: str, allocation_key: str, *, within: float = 0.0
    ) -> ext.WaysOutAnswer:
        """Return changes that would place an ask within a time, cheapest first.

        Raises: ClientError.
        """
        request = ext.WaysOutRequest(
            rm_id=self.rm_id,
            partition=self.partition,
            application_id=application_id,
            allocation_key=allocation_key,
            within=within,
        )
        return self._ask(lambda stub: stub.WaysOut, request)

    def dry_run(
        self,
        application_id: str,
        asks: Mapping[str, Mapping[str, int]] | Sequence[ext.DryRunRequest.Ask] = (),
        *,
        queue: str = "",
        user: str = "",
        groups: Sequence[str] = (),
        tags: Mapping[str, str] | None = None,
        task_groups: Sequence[ext.DryRunRequest.TaskGroup] = (),
        gang_scheduling_style: str = "",
        allow_preempt_other: bool = False,
        within: float = 0.0,
    ) -> ext.DryRunAnswer:
        """Return what would happen if an application came now; nothing changes.

        ``asks``: amounts by allocation key, for one allocation each, or messages. Placeholders are
        made of ``task_groups``. Raises: ClientError.
        """
        request = ext.DryRunRequest(
            rm_id=self.rm_id,
            partition=self.partition,
            application_id=application_id,
            queue=queue,
            user=user,
            groups=groups,
            tags=dict(tags or {}),
            asks=_messages(asks),
            task_groups=task_groups,
            gang_scheduling_style=gang_scheduling_style,
            allow_preempt_other=allow_preempt_other,
            within=within,
        )
        return self._ask(lambda stub: stub.DryRun, request)

    def config_impact(self, config: str, *, within: float = 60.0) -> ext.ConfigImpactAnswer:
        """Return what would differ if a queue configuration in YAML came into force now.

        ``within``: for how long both configurations are followed. Raises: ClientError.
        """
        request = ext.ConfigImpactRequest(rm_id=self.rm_id, config=config, within=within)
        return self._ask(lambda stub: stub.ConfigImpact, request)

    def forecast(
        self,
        application_id: str = "",
        *,
        queue: str = "",
        within: float | None = None,
        arrivals: bool = True,
    ) -> ext.ForecastAnswer:
        """Return when an application starts, or all that wait in a ``queue``; name one of both.

        ``within`` None: a week. ``arrivals``: others come meanwhile as they came before.
        Raises: ClientError.
        """
        request = ext.ForecastRequest(
            rm_id=self.rm_id,
            partition=self.partition,
            within=within,
            without_arrivals=not arrivals,
        )
        if application_id:
            request.application_id = application_id
        if queue:
            request.queue = queue
        return self._ask(lambda stub: stub.Forecast, request)

    def fair_shares(self) -> Iterator[ext.FairShare]:
        """Yield what each queue uses and is owed, by path. Raises: ClientError."""
        token = ""
        while True:
            request = ext.ListFairSharesRequest(
                rm_id=self.rm_id, partition=self.partition, page_token=token
            )
            answer = self._ask(lambda stub: stub.ListFairShares, request)
            yield from answer.queues
            if not answer.next_page_token:
                return
            if answer.next_page_token <= token:
                raise ClientError(f"{self._routes.address}: the pages of fair shares have no end")
            token = answer.next_page_token

    def fair_share(self, queue: str) -> ext.FairShareHistory:
        """Return one queue, with its samples of the last hour. Raises: ClientError."""
        request = ext.GetFairShareRequest(rm_id=self.rm_id, partition=self.partition, queue=queue)
        return self._ask(lambda stub: stub.GetFairShare, request)

    def _ask(
        self, method: Callable[[InsightStub], grpc.UnaryUnaryMultiCallable[Q, A]], request: Q
    ) -> A:
        """Return the answer of the first scheduler that gives one. Raises: ClientError."""
        return self._first(lambda channel: method(InsightStub(channel)), request)


def _messages(
    asks: Mapping[str, Mapping[str, int]] | Sequence[ext.DryRunRequest.Ask],
) -> Sequence[ext.DryRunRequest.Ask]:
    if not isinstance(asks, Mapping):
        return asks
    return [
        ext.DryRunRequest.Ask(allocation_key=key, resource=resource(amounts))
        for key, amounts in asks.items()
    ]
