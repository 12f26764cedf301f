"""A scheduler as it was at one moment, to look at.

from remuda import Moment

moment = Moment.read("journal", at="14:05")
for ask in moment.pending():
    print(moment.explain(ask.application_id, ask.allocation_key))
"""

from __future__ import annotations

from datetime import UTC, datetime
from os import PathLike
from pathlib import Path

from remuda.base.errors import UsageError
from remuda.core.messages.queries import PartitionsQuery, PartitionView
from remuda.core.messages.rows import rows
from remuda.core.scheduler import Scheduler as Core
from remuda.insight.explanation import Explanation
from remuda.library import inputs, views
from remuda.library.errors import RequestError
from remuda.library.records import Allocation, Ask, FairShare
from remuda.runtime import snapshots
from remuda.runtime.journals.past import Until, state_at
from remuda.runtime.journals.when import parse_when


class Moment:
    """The state of one partition of a scheduler; nothing changes it. ``read`` makes one.

    ``time``: when it was. ``number``: of the latest input in its journal, 0 if it is a snapshot.
    """

    def __init__(self, core: Core, now_ns: int, number: int, partition: str, rm_id: str) -> None:
        self._core = core
        self._now_ns = now_ns
        self._partition = partition
        self._rm_id = rm_id
        self.number = number

    @classmethod
    def read(
        cls,
        source: str | PathLike[str],
        at: str | int | datetime | None = None,
        *,
        partition: str = "",
        rm_id: str = "",
    ) -> Moment:
        """Return a past moment of a journal, or the state in a snapshot.

        Args:
            source: the directory of a journal, or a file that ``remuda snapshot`` wrote.
            at: for a journal: the number of an input, a time, or a text as ``remuda at`` takes it,
                such as "14:05" or "15m" (ago); None: its end.
            partition: which partition, if there are several.
            rm_id: the resource manager whose partition it is, if several have one of that name.

        Raises: RequestError, UsageError, SnapshotError; RemudaError if another version wrote the
        journal. Rules: EXT-49.
        """
        path = Path(source)
        if path.is_dir():
            reached = state_at(path, _until(at))
            return moment_of(
                reached.scheduler, reached.now_ns, partition, rm_id, number=reached.inputs
            )
        if at is not None:
            raise RequestError(f"{path} is no journal; leave out 'at', a snapshot is one moment")
        header, core = snapshots.read(path)
        return moment_of(core, header.at_ns, partition, rm_id)

    @property
    def time(self) -> datetime:
        """When this was, in UTC."""
        return datetime.fromtimestamp(self._now_ns // 10**9, UTC).replace(
            microsecond=self._now_ns // 1000 % 10**6
        )

    def pending(self, application_id: str = "") -> list[Ask]:
        """Return the asks that waited, of one application or of all, by application and key.

        Raises: RequestError.
        """
        inputs.text(application_id, "application_id")
        return views.pending(self._core.view, self._partition, application_id, self._rm_id)

    def allocations(self, application_id: str = "") -> list[Allocation]:
        """Return the allocations of one application, or of all, by application and ID.

        Raises: RequestError.
        """
        inputs.text(application_id, "application_id")
        return views.allocations(self._core.view, self._partition, application_id, self._rm_id)

    def fair_shares(self) -> list[FairShare]:
        """Return what each queue used, was guaranteed and was owed, by path."""
        return views.fair_shares(self._core.view, self._partition, self._rm_id)

    def explain(self, application_id: str, allocation_key: str) -> Explanation:
        """Return why an ask waited, or that it did not. Raises: RequestError."""
        ask = Ask(
            inputs.name(application_id, "application_id"),
            inputs.name(allocation_key, "allocation_key"),
            {},
        )
        return views.explanation(self._core.view, self._partition, ask, self._now_ns, self._rm_id)

    def __repr__(self) -> str:
        """Return the time and the place."""
        return f"<Moment {self.time.isoformat()} of partition {self._partition!r}>"


def moment_of(
    core: Core,
    now_ns: int,
    partition: str = "",
    rm_id: str = "",
    *,
    number: int = 0,
    absent: bool = False,
) -> Moment:
    """Return a moment of a scheduler's partition.

    ``absent``: whether the partition or the resource manager may be missing at that moment; then
    nothing waits there and nothing is placed. Raises: UsageError if it is not clear what is meant.
    """
    found = rows(PartitionView, core.view(PartitionsQuery()))
    managers = sorted({each.rm_id for each in found})
    if rm_id and found and rm_id not in managers and not absent:
        raise UsageError(f"no resource manager {rm_id!r:.80}; there are: {', '.join(managers)}")
    names = sorted({each.name for each in found if rm_id in ("", each.rm_id)})
    if partition and found and partition not in names and not absent:
        raise UsageError(f"no partition {partition!r:.80}; there are: {', '.join(names)}")
    if not partition and len(names) > 1:
        raise UsageError(f"there are several partitions; choose one of them: {', '.join(names)}")
    return Moment(core, now_ns, number, partition or "".join(names) or "default", rm_id)


def _until(at: object) -> Until:
    """Return what ``at`` means. Raises: RequestError, UsageError."""
    if at is None:
        return Until()
    if isinstance(at, str):
        return parse_when(at, datetime.now().astimezone(), "at")
    if isinstance(at, datetime):
        return parse_when(at.astimezone().isoformat(), datetime.now().astimezone(), "at")
    return Until(inputs.whole(at, "at", 1, inputs.INT64_MAX))
