"""What a scheduler costs besides placing, as tables."""

from __future__ import annotations

import pytest

from remuda.bench.services.events import EVENTS, EventResult, Tracked, measure_events
from remuda.bench.services.pauses import PAUSES, Disturbance, PauseResult, measure_pauses
from remuda.bench.services.startup import STARTUP, StartupResult, measure_startup
from remuda.bench.suites.catalogue import Figures, chosen
from remuda.bench.throughput.churn import ChurnResult
from remuda.bench.throughput.gang import GANG, GangResult, measure_gangs
from remuda.bench.throughput.idle import Reaction
from remuda.bench.throughput.memory import MEMORY_SHAPE, Held, MemoryResult, measure_memory
from remuda.bench.throughput.saturated import (
    SATURATED,
    Released,
    SaturatedResult,
    measure_saturated,
)
from remuda.bench.throughput.turnover import TURNOVER, TurnoverResult, measure_turnover
from tests.unit.bench.sessions import session_of, shown

TIMES = Reaction(0.5, 2.25, 9.0)
LONG = Reaction(1_432.1, 10_355.2, 111_616.3)
BUILD = "interpreted"

CASES = [
    (
        PauseResult("pauses", (Disturbance("dumps are read", TIMES, 3, 1.5, 4.5),), 2**20, BUILD),
        "pauses dumps are read 3 0.50 2.25 9.00 1.50 4.50 1",
    ),
    (
        MemoryResult("memory", (Held("node", 10_000, 1_557.3, 1_478.6),), 2**21, BUILD),
        "memory node 10,000 1,557 1,479 2",
    ),
    (
        ChurnResult("churn", 5_000, 99.6, 2**21, 2**22, 3 * 2**20, BUILD),
        "churn 5,000 100 2.0 4.0 3.0 100.0 %",
    ),
    (
        GangResult("gang", 9, 90, 15.25, 1_722.5, 80.5, TIMES, TIMES, 2**20, BUILD),
        "gang 9 90 15.2 80.5 first 0.50 2.25 9.00",
    ),
    (
        EventResult("events", (Tracked("on", 20_000.0, 48.5, 0.051, 40_000, 7),), 2**20, BUILD),
        "events on 20,000 5.1% 48.5 40,000 7 1",
    ),
    (
        SaturatedResult(
            "saturated", 60_000, (Released(100, 20_000, LONG, 1_450.5, 97.0),), 2**20, BUILD
        ),
        "saturated 60,000 20,000 100 1432 10355 111616 1450 97",
    ),
    (
        TurnoverResult("M10", 10_500.5, 4_000, TIMES, 2**20, BUILD),
        "M10 10,500 4,000/s 0.50 2.25 9.00 1",
    ),
    (StartupResult("startup", 0.25, 1.5, 50 * 2**20, BUILD), "startup 0.25 1.50 50"),
]


@pytest.mark.parametrize("result, row", CASES)
def test_figures_have_a_row(result: Figures, row: str) -> None:
    lines = [" ".join(line.split()) for line in shown(session_of(result))]
    assert any(line.startswith("shape ") for line in lines)
    assert row in lines


@pytest.mark.parametrize(
    "shape, measure",
    [
        (PAUSES, measure_pauses),
        (MEMORY_SHAPE, measure_memory),
        (GANG, measure_gangs),
        (EVENTS, measure_events),
        (SATURATED, measure_saturated),
        (STARTUP, measure_startup),
        (TURNOVER[0], measure_turnover),
    ],
)
def test_a_shape_is_found_by_its_name(shape: object, measure: object) -> None:
    name = getattr(shape, "name")  # noqa: B009 - of whatever kind it is
    ((suite, found),) = chosen([name])
    assert suite.task(found) == (measure, shape)
