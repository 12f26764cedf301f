"""The table of all suites: what can be measured, how it is run and how it is shown.

A suite is a row of SUITES. A new one needs a record of a shape with a name, a function that
measures one in the present process, a record of a result, and a table of such results.
"""

from __future__ import annotations

import difflib
import statistics
from collections.abc import Callable, Sequence
from typing import Final, Generic, Protocol, TypeVar

from rich.table import Table

from remuda.base.errors import UsageError
from remuda.base.message import message
from remuda.bench.clusters.shapes import IDLE, MIXED, SHAPES, WIDE, Shape
from remuda.bench.preemption.attempts import AttemptResult, AttemptShape, measure_attempts
from remuda.bench.preemption.crowd import CrowdResult, CrowdShape, measure_crowd
from remuda.bench.preemption.repeats import RepeatResult, RepeatShape, measure_repeats
from remuda.bench.preemption.shapes import PREEMPTION
from remuda.bench.reports import service_tables, tables
from remuda.bench.services.events import EVENTS, EventResult, measure_events
from remuda.bench.services.over_grpc import GRPC, GrpcResult, measure_grpc
from remuda.bench.services.pauses import PAUSES, PauseResult, measure_pauses
from remuda.bench.services.predicates import PREDICATES, PredicateResult, measure_predicates
from remuda.bench.services.recovery import RECOVERY, RecoveryResult, measure_recovery
from remuda.bench.services.rest import REST, RestResult, measure_rest
from remuda.bench.services.startup import STARTUP, StartupResult, measure_startup
from remuda.bench.throughput.churn import CHURN, ChurnResult, measure_churn
from remuda.bench.throughput.curves import CURVES, CurvePoint, CurveResult, measure_point
from remuda.bench.throughput.gang import GANG, GangResult, measure_gangs
from remuda.bench.throughput.idle import IdleResult, measure_idle
from remuda.bench.throughput.memory import MEMORY_SHAPE, MemoryResult, measure_memory
from remuda.bench.throughput.run import Result, measure
from remuda.bench.throughput.saturated import SATURATED, SaturatedResult, measure_saturated
from remuda.bench.throughput.turnover import TURNOVER, TurnoverResult, measure_turnover


class Named(Protocol):
    """A shape: it has a name no other one has."""

    @property
    def name(self) -> str:
        """Which people use, in any case."""


class Figures(Protocol):
    """A result: the name of its shape and the build that ran."""

    @property
    def shape(self) -> str:
        """The name of what was measured."""

    @property
    def build(self) -> str:
        """Interpreted or compiled."""


S = TypeVar("S", bound=Named)
R = TypeVar("R", bound=Figures)


@message
class Suite(Generic[S, R]):
    """Shapes that are measured and shown in the same way.

    ``names``: each names all shapes of the suite; suites may share one. ``measure`` runs a shape
    once, in its process; it and the shapes are pickled for that process. ``result``: the type that
    it returns. ``figure``: the number by which the median run is chosen. ``table`` shows results of
    several shapes.
    """

    names: tuple[str, ...]
    shapes: tuple[S, ...]
    measure: Callable[[S], R]
    result: type[R]
    figure: Callable[[R], float]
    table: Callable[[Sequence[R]], Table]

    def chosen(self, name: str) -> list[str]:
        """Return the names of the shapes that a name in any case stands for."""
        wanted = name.lower()
        if wanted in self.names:
            return self.shape_names()
        return [each for each in self.shape_names() if each.lower() == wanted]

    def shape_names(self) -> list[str]:
        """Return the names of all shapes."""
        return [shape.name for shape in self.shapes]

    def task(self, name: str) -> tuple[Callable[[S], R], S]:
        """Return what measures the shape of a name, and the shape."""
        return self.measure, next(shape for shape in self.shapes if shape.name == name)

    def median(self, results: Sequence[Figures]) -> Figures:
        """Return the run with the median figure (the lower one of two)."""
        own = self._own(results)
        middle = statistics.median_low(self.figure(result) for result in own)
        return next(result for result in own if self.figure(result) == middle)

    def shown(self, results: Sequence[Figures]) -> Table | None:
        """Return the table of this suite's results, None if none of them is one."""
        own = self._own(results)
        return self.table(own) if own else None

    def _own(self, results: Sequence[Figures]) -> list[R]:
        names = self.shape_names()
        return [
            result
            for result in results
            if isinstance(result, self.result) and result.shape in names
        ]


class AnySuite(Protocol):
    """A suite of any kinds of shapes and results."""

    @property
    def names(self) -> tuple[str, ...]:
        """See Suite."""

    def chosen(self, name: str) -> list[str]:
        """See Suite."""

    def shape_names(self) -> list[str]:
        """See Suite."""

    def task(self, name: str) -> tuple[Callable[..., Figures], Named]:
        """See Suite."""

    def median(self, results: Sequence[Figures]) -> Figures:
        """See Suite."""

    def shown(self, results: Sequence[Figures]) -> Table | None:
        """See Suite."""


def _busy(name: str, shapes: tuple[Shape, ...]) -> Suite[Shape, Result]:
    """Return a suite of shapes that are measured in allocations per second."""
    return Suite(
        (name,),
        shapes,
        measure,
        Result,
        lambda result: result.allocations_per_second,
        tables.busy_table,
    )


CORE: Final = _busy("core", SHAPES)
WIDE_SUITE: Final = _busy("wide", WIDE)
MIXED_SUITE: Final = _busy("mixed", MIXED)


def _curve(name: str) -> Suite[CurvePoint, CurveResult]:
    return Suite(
        (name, "curves"),
        tuple(point for point in CURVES if point.curve == name),
        measure_point,
        CurveResult,
        lambda result: result.microseconds_per_allocation,
        tables.curve_table,
    )


IDLE_SUITE: Final = Suite(
    (),
    (IDLE,),
    measure_idle,
    IdleResult,
    lambda result: result.reaction_milliseconds.p99,
    tables.idle_table,
)

ATTEMPTS: Final = Suite(
    ("preemption",),
    tuple(each for each in PREEMPTION if isinstance(each, AttemptShape)),
    measure_attempts,
    AttemptResult,
    lambda result: result.attempt_milliseconds.p99,
    tables.attempt_table,
)

REPEATS: Final = Suite(
    ("preemption",),
    tuple(each for each in PREEMPTION if isinstance(each, RepeatShape)),
    measure_repeats,
    RepeatResult,
    lambda result: result.quiet_milliseconds,
    tables.repeat_table,
)

CROWDS: Final = Suite(
    ("preemption",),
    tuple(each for each in PREEMPTION if isinstance(each, CrowdShape)),
    measure_crowd,
    CrowdResult,
    lambda result: result.all_placed.wall_seconds,
    tables.crowd_table,
)

READ: Final = Suite(
    ("rest",),
    REST,
    measure_rest,
    RestResult,
    lambda result: max(part.milliseconds.p99 for part in result.parts),
    tables.rest_table,
)

PAUSED: Final = Suite(
    (),
    (PAUSES,),
    measure_pauses,
    PauseResult,
    PauseResult.longest_milliseconds,
    service_tables.pause_table,
)

WEIGHED: Final = Suite(
    (),
    (MEMORY_SHAPE,),
    measure_memory,
    MemoryResult,
    MemoryResult.allocation_bytes,
    service_tables.memory_table,
)

CHURNED: Final = Suite(
    (),
    (CHURN,),
    measure_churn,
    ChurnResult,
    ChurnResult.growth,
    service_tables.churn_table,
)

GANGS: Final = Suite(
    (),
    (GANG,),
    measure_gangs,
    GangResult,
    lambda result: result.gangs_per_second,
    service_tables.gang_table,
)

TRACKED: Final = Suite(
    (),
    (EVENTS,),
    measure_events,
    EventResult,
    EventResult.loss,
    service_tables.event_table,
)

FULL: Final = Suite(
    (),
    (SATURATED,),
    measure_saturated,
    SaturatedResult,
    lambda result: result.parts[0].microseconds.p50,
    service_tables.saturated_table,
)

TURNED: Final = Suite(
    ("mixed",),
    TURNOVER,
    measure_turnover,
    TurnoverResult,
    lambda result: result.allocations_per_second,
    service_tables.turnover_table,
)

STARTED: Final = Suite(
    (),
    (STARTUP,),
    measure_startup,
    StartupResult,
    lambda result: result.serving_seconds,
    service_tables.startup_table,
)

OVER_GRPC: Final = Suite(
    ("grpc",),
    GRPC,
    measure_grpc,
    GrpcResult,
    lambda result: result.milliseconds.p99 if result.rate else result.allocations_per_second,
    service_tables.grpc_table,
)

JUDGED: Final = Suite(
    ("predicates",),
    PREDICATES,
    measure_predicates,
    PredicateResult,
    lambda result: result.allocations_per_second,
    service_tables.predicate_table,
)

RECOVERED: Final = Suite(
    ("recovery",),
    RECOVERY,
    measure_recovery,
    RecoveryResult,
    lambda result: result.seconds,
    service_tables.recovery_table,
)

SUITES: Final[tuple[AnySuite, ...]] = (
    CORE,
    WIDE_SUITE,
    MIXED_SUITE,
    TURNED,
    *(_curve(name) for name in dict.fromkeys(point.curve for point in CURVES)),
    IDLE_SUITE,
    ATTEMPTS,
    REPEATS,
    CROWDS,
    READ,
    OVER_GRPC,
    JUDGED,
    RECOVERED,
    PAUSED,
    WEIGHED,
    CHURNED,
    GANGS,
    TRACKED,
    FULL,
    STARTED,
)


def chosen(names: Sequence[str]) -> list[tuple[AnySuite, str]]:
    """Return the shapes these names stand for, S1 to S10 for none, each once.

    Raises: UsageError for a name that stands for nothing.
    """
    found: dict[str, tuple[AnySuite, str]] = {}
    for name in names or ("core",):
        shapes = [(suite, shape) for suite in SUITES for shape in suite.chosen(name)]
        if not shapes:
            raise UsageError(_unknown(name))
        found.update({shape: (suite, shape) for suite, shape in shapes})
    return list(found.values())


def known_names() -> list[str]:
    """Return the names of all suites, then those of all shapes."""
    suites = dict.fromkeys(name for suite in SUITES for name in suite.names)
    return [*suites, *(shape for suite in SUITES for shape in suite.shape_names())]


def _unknown(name: str) -> str:
    known = {each.lower(): each for each in known_names()}
    near = difflib.get_close_matches(name.lower(), known, n=3, cutoff=0.5)
    meant = f"; did you mean {' or '.join(known[each] for each in near)}?" if near else ";"
    return f"there is no shape {name!r}{meant} remuda bench --help explains all names"
