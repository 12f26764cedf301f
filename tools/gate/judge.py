"""Compares what was measured with what was recorded, and with the promised proportions.

A timed cost is given as a multiple of the calibration, so that figures of different machines can
be compared. The quickest of several runs counts, for the calibration too: noise only adds time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median_low
from typing import Final, TypeAlias

from tools.gate.cases import Case, Proportion

# Figures by the name of the case.
Figures: TypeAlias = Mapping[str, float]

# How much more than recorded lets the gate close. Counted figures are exact: the room is for
# changes that are worth it. Timed ones differ by 1 to 3 % from run to run. From day to day all
# shapes of an unchanged tree took 0 to 40 % more at once: other tenants of a host take caches from
# the scheduler, which has more code and more memory than the calibration. So a shape is compared
# with the others, and all together have a limit of their own. What makes all of them slower by less
# than that is more work, as a rule, which is counted.
TIME_LIMIT: Final = 1.18
TIME_LIMIT_OF_ALL: Final = 1.5
WORK_LIMIT: Final = 1.05
# So much less has to be recorded, or a later slow-down would hide in the difference. Machines
# differ in what a calibration costs beside an allocation, so that times show only great gains.
WORK_STALE: Final = 0.90
TIME_STALE: Final = 0.60

# On a machine with nothing else to do the middle one of the calibrations takes 1 to 5 % more than
# the quickest. Where it takes more than this, the quickest calibration had luck that no allocation
# can have, because that takes longer; so a time that is too long says nothing about the scheduler.
STEADY: Final = 1.12
# Where others took more of the processors than this meanwhile, they took caches and clock rate from
# an allocation as well, often without an effect on the small calibration.
ALONE: Final = 0.1

RENEW: Final = "python -m tools.gate --update"


@dataclass
class Samples:
    """What was timed, in seconds of each run: calibrations by their scale, allocations by case.

    ``scales``: of the calibration of each case.
    """

    calibrations: dict[int, list[float]] = field(default_factory=dict)
    cases: dict[str, list[float]] = field(default_factory=dict)
    scales: dict[str, int] = field(default_factory=dict)

    def add(self, case: Case, calibration: float, allocation: float) -> None:
        """Add one run of a case, and of the calibration before it."""
        self.calibrations.setdefault(case.scale, []).append(calibration)
        self.cases.setdefault(case.name, []).append(allocation)
        self.scales[case.name] = case.scale

    def seconds(self) -> dict[str, float]:
        """What an allocation of each case takes."""
        return {name: min(runs) for name, runs in self.cases.items()}

    def costs(self) -> dict[str, float]:
        """What an allocation of each case takes, in millionths of its calibration."""
        units = {scale: min(runs) / scale / 1e6 for scale, runs in self.calibrations.items()}
        return {
            name: round(seconds / units[self.scales[name]], 1)
            for name, seconds in self.seconds().items()
        }

    def unrest(self) -> float:
        """How many times the quickest calibration the middle one takes; the worst of all scales."""
        return max(
            [median_low(runs) / min(runs) for runs in self.calibrations.values()], default=1.0
        )


@dataclass(frozen=True)
class Kind:
    """One kind of figure: what it is called, and how far it may differ from the recorded one.

    ``of_all``: how far the middle one of all figures may; None: each is judged by itself.
    """

    name: str
    limit: float
    stale: float
    of_all: float | None = None


TIME: Final = Kind("time", TIME_LIMIT, TIME_STALE, TIME_LIMIT_OF_ALL)
WORK: Final = Kind("work", WORK_LIMIT, WORK_STALE)


def compare(kind: Kind, measured: Figures, recorded: Figures) -> Iterator[tuple[str, str]]:
    """Yield case and complaint for each figure that is too large, too small or not recorded."""
    common = _common(kind, measured, recorded)
    for case, figure in measured.items():
        known = recorded.get(case)
        if known is None:
            yield case, f"{case}: its {kind.name} was never recorded: {RENEW}"
            continue
        ratio = figure / known
        change = f"{case}: {figure:,.1f} of {kind.name} per allocation; {known:,.1f} is recorded"
        if ratio > kind.limit * common:
            beside = f", beside {common - 1:.0%} more of all shapes" if common > 1 else ""
            most = f"at most {kind.limit - 1:.0%} is let pass{beside}"
            yield case, f"{change}. {ratio - 1:.0%} more, {most}"
        elif kind.of_all is not None and min(ratio, common) > kind.of_all:
            most = f"at most {kind.of_all - 1:.0%} of all shapes is let pass"
            yield case, f"{change}. {ratio - 1:.0%} more, {most}"
        elif ratio < kind.stale:
            yield case, f"{change}. {1 - ratio:.0%} less: keep the gain, {RENEW}"


def _common(kind: Kind, measured: Figures, recorded: Figures) -> float:
    """Return how many times the recorded figure at least half of the cases have; at least 1."""
    ratios = [figure / recorded[case] for case, figure in measured.items() if case in recorded]
    return 1.0 if kind.of_all is None or not ratios else max(1.0, median_low(ratios))


def weigh(
    kind: Kind, measured: Figures, proportions: Sequence[Proportion]
) -> Iterator[tuple[str, str]]:
    """Yield case and complaint for each proportion of measured cases that is not kept."""
    for each in proportions:
        if each.case in measured and each.base in measured:
            ratio = measured[each.case] / measured[each.base]
            if ratio > each.limit:
                much = f"{ratio:.2f} times the {kind.name} of {each.base}"
                yield each.case, f"{each.case}: {much}, not {each.limit:.2f}: {each.promise}"
