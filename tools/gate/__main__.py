"""The gate: is an allocation still as cheap as recorded?

    python -m tools.gate             judge; exit code 1 if something became slower, 3 if the
                                     machine is too unsteady to tell
    python -m tools.gate --update    record what is measured now

It compares costs within one run, never with a time on a clock: the time of an allocation with that
of a fixed piece of work beside it, the instructions of an allocation with the recorded number, and
both of one shape with those of another. CONTRIBUTING.md says what to do when it closes.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Final

from remuda.core.scheduler import Scheduler
from remuda.runtime.interpreter import tune_interpreter
from remuda.runtime.ports import SchedulerFactory
from tools.gate.cases import COUNTED, RELEASES, TIME_PROPORTIONS, TIMED, WORK_PROPORTIONS, Case
from tools.gate.company import Company
from tools.gate.equal import release_work
from tools.gate.judge import ALONE, STEADY, TIME, WORK, Figures, Kind, Samples, compare, weigh
from tools.gate.plant import BURDENS, burdened
from tools.gate.reference import calibration_digest, read, record
from tools.gate.timing import allocation_seconds, build, is_interpreted, measure, processor
from tools.gate.work import allocation_work

# Runs of which the quickest tells how much to plant.
_TRIALS: Final = 5
_REPETITIONS: Final = 4
_NO_VERDICT: Final = 3
# How often all is timed to be recorded.
_RECORDED: Final = 3


def main(arguments: list[str] | None = None) -> int:
    """Judge or record; 0 if the gate is open, 1 if it is closed, 3 if times cannot be judged."""
    options = _options(arguments)
    tune_interpreter()
    timed = [case for case in TIMED if not options.only or case.name in options.only]
    counted = list(COUNTED) if is_interpreted() else []
    make = _planted(options.plant) if options.plant else Scheduler
    if options.update:
        _record(timed, [] if options.measure == "time" else counted, options.measure != "work")
        return 0
    reference = read()
    recorded = reference.builds.get(build())
    if recorded is None:
        print(f"gate: nothing was recorded for {build()}; only proportions are judged")
    time = recorded.time_on(processor()) if recorded else None
    if recorded is not None and time is None:
        print(f"gate: no times were recorded for {processor()}; only their proportions are judged")
    faults: list[str] = []
    slow: list[str] = []
    unrest, company = 1.0, Company()
    if reference.calibration != calibration_digest():
        faults.append("tools/gate/calibration.py was changed, which makes all records void")
    if options.measure != "time":
        faults += _worked(counted, make, recorded.work if recorded else None)
    if options.measure != "work":
        slow, unrest = _timed(timed, make, time, repetitions=options.repetitions)
    for fault in (*faults, *slow):
        print(f"gate: {fault}")
    if slow and not faults and (why := _unsteady(unrest, company.share())):
        print(f"gate: no verdict, {why}")
        return _NO_VERDICT
    closed = bool(faults or slow)
    print(f"gate: {'closed' if closed else 'open'} for {build()}")
    return int(closed)


def _unsteady(unrest: float, others: float) -> str:
    """Say why times tell nothing on this machine now; "" if they do."""
    if unrest > STEADY:
        much = f"{unrest - 1:.0%} between the middle and the quickest calibration"
        return f"the machine is unsteady: {much}, at most {STEADY - 1:.0%} is"
    if others > ALONE:
        return f"the machine is busy: {others:.0%} of it with other work, at most {ALONE:.0%} is"
    return ""


def _record(timed: Sequence[Case], counted: Sequence[Case], time: bool) -> None:
    """Measure and record these cases; the other figures of this build stay."""
    samples = Samples()
    timed = [case for case in timed if case.recorded]
    for _ in range(_RECORDED if time else 0):
        measure(timed, samples, tell=_dot)
    record(build(), processor(), samples.costs(), _counted(counted, Scheduler))
    print(f"\ngate: recorded for {build()}; commit tools/gate/reference.toml")


def _counted(cases: Sequence[Case], make: SchedulerFactory) -> Figures:
    """Count all that is counted, or nothing."""
    if not cases:
        return {}
    found = {case.name: allocation_work(case.shape, make) for case in cases}
    for each in RELEASES:
        found[each.name] = release_work(each.queues, each.levels, make)
    return found


def _timed(
    cases: Sequence[Case],
    make: SchedulerFactory,
    recorded: Figures | None,
    *,
    repetitions: int,
) -> tuple[list[str], float]:
    """Time the cases; those that are found too slow again, before it is believed.

    On an unsteady machine once is enough, as it is not believed there. Return what is too slow, and
    how unsteady the machine is.
    """
    samples = Samples()
    faults: dict[str, str] = {}
    kept = {case.name for case in cases if case.recorded}
    for _ in range(1 + repetitions):
        measure(cases, samples, make, _dot)
        judged = {name: cost for name, cost in samples.costs().items() if name in kept}
        faults = _faults(TIME, judged, recorded)
        faults |= dict(weigh(TIME, samples.costs(), TIME_PROPORTIONS))
        if not faults or samples.unrest() > STEADY:
            break
        bases = {each.base for each in TIME_PROPORTIONS if each.case in faults}
        cases = [case for case in cases if case.name in faults or case.name in bases]
    print()
    _show(TIME, samples.costs(), recorded)
    return list(faults.values()), samples.unrest()


def _worked(cases: Sequence[Case], make: SchedulerFactory, recorded: Figures | None) -> list[str]:
    """Count the work of the cases."""
    work = _counted(cases, make)
    _show(WORK, work, recorded)
    return [
        *_faults(WORK, work, recorded).values(),
        *dict(weigh(WORK, work, WORK_PROPORTIONS)).values(),
    ]


def _faults(kind: Kind, measured: Figures, recorded: Figures | None) -> dict[str, str]:
    return {} if recorded is None else dict(compare(kind, measured, recorded))


def _show(kind: Kind, measured: Figures, recorded: Figures | None) -> None:
    for case, figure in measured.items():
        known = (recorded or {}).get(case)
        ratio = "" if known is None else f"{figure / known:8.3f} times what was recorded"
        print(f"{kind.name}  {case:28} {figure:10,.1f} {ratio}")


def _dot() -> None:
    print(".", end="", flush=True)


def _planted(plant: str) -> SchedulerFactory:
    """Return what makes schedulers that are slower, as ``KIND:PERCENT`` of what S1 costs."""
    kind, _, percent = plant.partition(":")
    cost = min([allocation_seconds(TIMED[0].shape) for _ in range(_TRIALS)])
    return burdened(kind, cost * int(percent) / 100)


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tools.gate", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--update", action="store_true", help="record what is measured")
    parser.add_argument("--only", action="append", help="time this case only; may be repeated")
    parser.add_argument("--measure", choices=("time", "work", "both"), default="both")
    parser.add_argument(
        "--repetitions",
        type=int,
        default=_REPETITIONS,
        help="how often what is found too slow is timed again before it is believed",
    )
    parser.add_argument(
        "--plant", metavar="KIND:PERCENT", help=f"slow the scheduler down; {', '.join(BURDENS)}"
    )
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
