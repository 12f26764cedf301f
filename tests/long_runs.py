"""What the random runs share: which seeds they take, and what they got through.

``make long`` sets REMUDA_ROTATION to the number of the day, so that each day tests other seeds; a
failing run is repeated by the same number. Without it the seeds are those of rotation 0.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final, TypeVar

import pytest

from remuda.core.scheduler import Scheduler
from remuda.runtime.build import core_build

ROTATION: Final = int(os.environ.get("REMUDA_ROTATION", "0"))

# More than any test has seeds, and divisible by what seeds are divided by.
_SPAN: Final = 6_000_000

Rates = dict[str, Counter[str]]


# What only all seeds together show is looked for where all of them are played.
ALL_ARE_PLAYED: Final = pytest.mark.skipif(
    core_build() != "compiled", reason="a sixth of the seeds is played here: make test-compiled"
)


# A sixth of such a test is too much for an interpreted core: it has few parts, or a single one.
COMPILED_ONLY: Final = pytest.mark.skipif(
    core_build() != "compiled", reason="it takes an interpreted core too long: make test-compiled"
)

Seeds = TypeVar("Seeds", range, list[Any])


def usual(seeds: Seeds) -> Seeds:
    """The seeds of a run that is no ``long`` one: on an interpreted core the first sixth of them.

    Both builds run the same sources, and an interpreted core takes three times as long.
    """
    return seeds if core_build() == "compiled" else seeds[: -(-len(seeds) // 6)]


def rotated(seeds: range) -> range:
    """The seeds of this rotation, as many as given."""
    shift = ROTATION * _SPAN
    return range(seeds.start + shift, seeds.stop + shift, seeds.step)


@contextmanager
def counted_steps(item: pytest.Item) -> Iterator[None]:
    """Note in the report of a test how many calls of the scheduler it made, and its time.

    The calls of a compiled core can't be counted; then only the time is told.
    """
    steps = 0
    began = time.process_time()
    with pytest.MonkeyPatch.context() as patch:
        for name in ("handle", "step"):
            real = getattr(Scheduler, name)

            def counting(*args: Any, _real: Any = real, **named: Any) -> Any:
                nonlocal steps
                steps += 1
                return _real(*args, **named)

            try:
                patch.setattr(Scheduler, name, counting)
            except TypeError:
                break
        yield
    spent = time.process_time() - began
    item.user_properties += [("steps", str(steps)), ("seconds", str(spent))]


def add(rates: Rates, report: pytest.TestReport) -> None:
    """Add what one test got through to what its function did."""
    found = dict(report.user_properties)
    if "steps" in found:
        name = report.nodeid.partition("[")[0]
        counts = rates.setdefault(name, Counter())
        counts["cases"] += 1
        counts["steps"] += int(str(found["steps"]))
        counts["milliseconds"] += round(float(str(found["seconds"])) * 1_000)


def lines(rates: Rates) -> Iterator[str]:
    """One line a function, and one for all: cases, steps, processor time, steps a second."""
    total = Counter[str]()
    for name, counts in sorted(rates.items()):
        total += counts
        yield f"{_line(counts)}  {name}"
    yield f"{_line(total)}  all, with REMUDA_ROTATION={ROTATION}"


def _line(counts: Counter[str]) -> str:
    seconds = counts["milliseconds"] / 1_000
    rate = counts["steps"] / seconds if seconds else 0.0
    return (
        f"{counts['cases']:>6,} cases {counts['steps']:>12,} steps"
        f" {seconds:>9,.1f} s {rate:>8,.0f} steps/s"
    )
