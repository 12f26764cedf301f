"""When applications that wait will start: an interval from simulations on copies of the state.

The start of an application is the time of its first real allocation; a gang starts when all its
members have places. What is not known is told, and not assumed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, TypeAlias

import msgspec

from remuda.base.duration import SECOND
from remuda.base.errors import RemudaError
from remuda.base.message import message
from remuda.base.texts import shown
from remuda.core.messages.application_queries import LiveIdsQuery
from remuda.core.messages.queries import PartitionsQuery, PartitionView, UnknownQueue
from remuda.core.messages.tags import RUN_TIME
from remuda.core.scheduler import Scheduler
from remuda.insight.forecast_scene import Living, Scene, scene
from remuda.insight.future import Future
from remuda.insight.html import lines_html
from remuda.insight.promises import Promise, Settled, settled

# Does each piece of work on a core of its own, which is a copy of this one.
OnCopies: TypeAlias = Callable[[Sequence[Callable[[], bytes]]], Sequence[bytes | None]]

EXPECTED: Final = "expected"
LATER: Final = "later"
STARTED: Final = "started"
UNKNOWN: Final = "unknown"

# Which part of the simulations lies in the interval: in tenths, below it and above it one each.
_TENTHS: Final = 10

# Simulations of one forecast. With so many, the interval is from the n-th to the n-th last start
# without anything between two of them: 19 -> second, 39 -> fourth.
SEEDS: Final = 19
SEEDS_LEAST: Final = 9
SEEDS_LIMIT: Final = 99

# Instants at which something happens, in all simulations of one forecast; then its horizon ends.
INSTANTS_LIMIT: Final = 50_000

# After all that happens: a start that did not come, an interval without an end.
NEVER_NS: Final = 2**63 - 1

# How far ahead simulations go.
HORIZON_NS: Final = 7 * 86_400 * SECOND
HORIZON_LIMIT_NS: Final = 30 * 86_400 * SECOND

# Applications of a queue with a forecast each: those that wait longest.
APPLICATIONS_LIMIT: Final = 1_000

# The part of all allocations, running or waiting, whose run time may be unknown: one in so many.
_UNKNOWN_ONE_IN: Final = 10


# Unit, the smaller one, and how many seconds each has.
_UNITS: Final = (("d", "h", 86_400, 3_600), ("h", "min", 3_600, 60), ("min", "s", 60, 1))


@message
class ForecastQuestion:
    """Which applications: one by ID, or with "" all that wait in a queue and below it.

    ``open``: earlier promises about the partition. ``arrivals``: whether applications come as they
    came before. ``rm_id`` "": the partition of the first RM by ID.
    """

    partition: str
    application_id: str = ""
    queue: str = ""
    seeds: int = SEEDS
    within_ns: int = HORIZON_NS
    arrivals: bool = True
    rm_id: str = ""
    open: tuple[Promise, ...] = ()


@dataclass(frozen=True, slots=True)
class Calibration:
    """How often earlier intervals held the true start, of those whose start is known by now.

    ``open``: forecasts whose application has not started yet. ``widened``: by how much each end of
    the interval was moved because earlier starts missed theirs, as a part of the median; 0: not.
    """

    forecasts: int = 0
    held: int = 0
    open: int = 0
    widened: float = 0.0

    def __str__(self) -> str:
        """Return it as a sentence."""
        if not self.forecasts:
            return "no start of an earlier forecast is known yet, so its quality is not known"
        share = 100 * self.held / self.forecasts
        text = f"{self.held} of {self.forecasts} earlier intervals ({share:.0f} %) held the start"
        if not self.widened:
            return text
        return f"{text}; each end was moved by {100 * self.widened:.0f} % of the median"


@dataclass(frozen=True, slots=True)
class Forecast:
    """When an application will start.

    ``outcome``: ``expected``; ``later``: at the end of the horizon it waited in most of the
    simulations; ``started``: it has started; ``unknown``: ``reason`` says why. The seconds count
    from ``at_ns``, a time of the wall clock: in four of five simulations the start is from
    ``low_seconds`` to ``high_seconds``, in half of them by ``median_seconds``; None: after
    ``horizon_seconds``. ``assumed``: what the simulations took for granted. ``calibration``: how
    good earlier forecasts were, and by how much the interval was widened because of that.
    """

    application_id: str
    queue: str
    outcome: str
    at_ns: int
    reason: str = ""
    low_seconds: float | None = None
    median_seconds: float | None = None
    high_seconds: float | None = None
    seeds: int = 0
    horizon_seconds: float = 0.0
    assumed: tuple[str, ...] = ()
    calibration: Calibration = Calibration()

    def __str__(self) -> str:
        """Return it for a person, one fact a line. Rules: EXT-76."""
        lines = [self._first(), *[f"  {each}" for each in self.assumed]]
        if self.outcome in (EXPECTED, LATER):
            lines.append(f"  {self.calibration}")
        return "\n".join(map(shown, lines))

    def _first(self) -> str:
        name = self.application_id
        if self.outcome in (UNKNOWN, STARTED):
            return f"{name}: {self.outcome}: {self.reason}"
        horizon = _text(self.horizon_seconds)
        low, high = self.low_seconds, self.high_seconds
        from_text = f"after {horizon}" if low is None else f"in {_text(low)}"
        if self.outcome == LATER or self.median_seconds is None:
            least = "" if low is None else f", at the earliest {from_text}"
            return f"{name}: starts after the horizon of {horizon}{least}"
        until = f"later than {horizon}" if high is None else _text(high)
        return f"{name}: starts {from_text} to {until}, median {_text(self.median_seconds)}"

    def _repr_html_(self) -> str:
        """Return it as a notebook shows it."""
        return lines_html(str(self))


@message
class ForecastAnswer:
    """Forecasts, and what is known by now about earlier promises.

    ``version`` and ``wall_ns``: the state that they are about.
    """

    forecasts: tuple[Forecast, ...]
    settled: tuple[Settled, ...] = ()
    version: int = 0
    wall_ns: int = 0


@message
class _Outcome:
    """When applications began in one future, which was played until ``until_ns``."""

    began: dict[str, int]
    until_ns: int


def forecast(
    core: Scheduler, now_ns: int, wall_ns: int, question: ForecastQuestion, on_copies: OnCopies
) -> ForecastAnswer:
    """Return forecasts; the core is not changed, but its copies are used up.

    Raises: RemudaError if a simulation does not come to its end. Implements: EXT-122.
    """
    question = replace(question, rm_id=_manager(core, question))
    known = scene(core, question.partition, question.rm_id, now_ns, wall_ns)
    known_now = settled(core, wall_ns, question.partition, question.rm_id, question.open)
    wanted = _wanted(core, known, question)
    found = {each.application_id: _certain(each, known, wall_ns) for each in wanted}
    names = [name for name, told in found.items() if told is None]
    told: Mapping[str, Forecast] = {}
    if names:
        told = _simulated(_Begin(core, wall_ns, known, question), names, on_copies)
    return ForecastAnswer(tuple([found[name] or told[name] for name in found]), tuple(known_now))


def _manager(core: Scheduler, question: ForecastQuestion) -> str:
    """Return the RM whose partition is meant. Raises: RemudaError."""
    found = core.view(PartitionsQuery())
    assert isinstance(found, tuple)
    for view in found:
        if not isinstance(view, PartitionView) or view.name != question.partition:
            continue
        if question.rm_id in ("", view.rm_id):
            return view.rm_id
    raise RemudaError(f"there is no partition {question.partition!r:.80}; name another one")


def _wanted(core: Scheduler, known: Scene, question: ForecastQuestion) -> list[Living]:
    """Return the applications that are meant. Raises: RemudaError if there is no such one."""
    if question.application_id:
        one = known.living.get(question.application_id)
        if one is None:
            raise RemudaError(
                f"application {question.application_id!r:.80} is not known, or has ended;"
                " name one that waits"
            )
        return [one]
    queue = question.queue
    if isinstance(core.view(LiveIdsQuery(question.partition, queue, question.rm_id)), UnknownQueue):
        raise RemudaError(f"queue {queue!r:.80} is not known; name one that exists")
    above = f"{queue.lower()}."
    waiting = [
        each
        for each in known.living.values()
        if each.waits() and (not queue or f"{each.queue}.".startswith(above))
    ]
    waiting.sort(key=lambda each: (each.waiting[0].request_time_ns, each.application_id))
    return waiting[:APPLICATIONS_LIMIT]


def _certain(living: Living, known: Scene, at_ns: int) -> Forecast | None:
    """Return the forecast of an application that needs no simulation, or allows none."""
    name, queue = living.application_id, living.queue
    if living.held and not living.gang_pending():
        return Forecast(name, queue, STARTED, at_ns, "it has real allocations already")
    if not living.waiting:
        return Forecast(name, queue, UNKNOWN, at_ns, "nothing of it waits: it has no asks")
    reason = _too_little(known)
    return Forecast(name, queue, UNKNOWN, at_ns, reason) if reason else None


def _too_little(known: Scene) -> str:
    """Return why no forecast is possible, "" if one is. Rules: EXT-122."""
    unknown, count = known.unknown_run_times()
    if unknown * _UNKNOWN_ONE_IN <= count:
        return ""
    return (
        f"the run time of {unknown} of {count} allocations that run or wait is not known;"
        f" declare it with the tag {RUN_TIME}"
    )


@message
class _Begin:
    """From where and how futures are played."""

    core: Scheduler
    wall_ns: int
    known: Scene
    question: ForecastQuestion


def _simulated(begin: _Begin, names: Sequence[str], on_copies: OnCopies) -> Mapping[str, Forecast]:
    question, known = begin.question, begin.known
    chance = known.leaves_to_chance() or (question.arrivals and known.arrivals_known())
    different = question.seeds if chance else 1
    instants = INSTANTS_LIMIT // different
    works = [partial(_one, begin, names, instants, seed) for seed in range(different)]
    outcomes = [msgspec.json.decode(answer, type=_Outcome) for answer in on_copies(works) if answer]
    if len(outcomes) < different:
        raise RemudaError(
            f"only {len(outcomes)} of {different} simulations came to their end; look less"
            " far ahead, with fewer simulations, or try again when the machine has less to do"
        )
    assumed = tuple(_assumed(known, question))
    return {name: replace(_told(begin, name, outcomes), assumed=assumed) for name in names}


def _one(begin: _Begin, names: Collection[str], instants: int, seed: int) -> bytes:
    """Play one future; for use in a copy."""
    question = begin.question
    future = Future(
        begin.core,
        begin.known,
        partition=question.partition,
        rm_id=question.rm_id,
        seed=seed,
        arrivals=question.arrivals,
    )
    horizon_ns = begin.known.now_ns + question.within_ns
    until_ns = future.play(dict.fromkeys(names), horizon_ns, instants)
    began = {name: future.began[name] for name in names if name in future.began}
    return msgspec.json.encode(_Outcome(began, until_ns))


def _told(begin: _Begin, name: str, outcomes: Sequence[_Outcome]) -> Forecast:
    """Return the interval of the starts of an application; the horizon is that of all futures.

    Rules: EXT-122.
    """
    now_ns, question = begin.known.now_ns, begin.question
    within_ns = min([each.until_ns for each in outcomes]) - now_ns
    after = [each.began.get(name, NEVER_NS) - now_ns for each in outcomes]
    low_s, median_s, high_s = [None if ns > within_ns else ns / SECOND for ns in interval_of(after)]
    return Forecast(
        name,
        begin.known.living[name].queue,
        LATER if median_s is None else EXPECTED,
        begin.wall_ns,
        low_seconds=low_s,
        median_seconds=median_s,
        high_seconds=high_s,
        seeds=question.seeds,
        horizon_seconds=within_ns / SECOND,
    )


def interval_of(starts: Sequence[int]) -> tuple[int, int, int]:
    """Return the ends of the interval of some starts, with the middle one between them.

    Of N starts a tenth of N + 1 lies on each side. Rules: EXT-122.
    """
    ordered = sorted(starts)
    count = len(ordered) + 1
    side = max(count // _TENTHS, 1)
    return ordered[side - 1], ordered[count // 2 - 1], ordered[min(count - side, len(ordered)) - 1]


def _assumed(known: Scene, question: ForecastQuestion) -> Iterator[str]:
    """Yield what the simulations take for granted."""
    unknown, _ = known.unknown_run_times()
    if unknown:
        which = "1 allocation" if unknown == 1 else f"{unknown} allocations"
        yield f"the run time of {which} is not known, and taken to have no end"
    if not question.arrivals:
        yield "nothing more is submitted"
    elif not known.arrivals_known():
        yield "nothing more is submitted: too few applications came, or in too short a time"
    else:
        yield f"applications come as the last {len(known.arrivals)} did"


def _text(seconds: float) -> str:
    """Return a time with two units at most, rounded down."""
    whole = int(seconds)
    for unit, less, length, part in _UNITS:
        if whole >= length:
            rest = whole % length // part
            return f"{whole // length} {unit}" + (f" {rest} {less}" if rest else "")
    return f"{whole} s"
