"""Compares what was measured with what was recorded, and with the promised proportions.

A timed cost is given as a multiple of the calibration, so that figures of different machines can
be compared. The quickest of several runs counts, for the calibration too: noise only adds time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from tools.gate.cases import Case, Proportion

# Figures by the name of the case.
Figures: TypeAlias = Mapping[str, float]

# How much more than recorded lets the gate close. Timed figures differ by 1 to 3 % from run to
# run, and by more from machine to machine; a slow-down of 30 % is well beyond the limit, no
# slow-down well before it. Counted ones are exact: the room is for changes that are worth it.
TIME_LIMIT: Final = 1.18
WORK_LIMIT: Final = 1.05
# So much less has to be recorded, or a later slow-down would hide in the difference. Machines
# differ in what a calibration costs beside an allocation, so that times show only great gains.
WORK_STALE: Final = 0.90
TIME_STALE: Final = 0.60

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


@dataclass(frozen=True)
class Kind:
    """One kind of figure: what it is called, and how far it may differ from the recorded one."""

    name: str
    limit: float
    stale: float


TIME: Final = Kind("time", TIME_LIMIT, TIME_STALE)
WORK: Final = Kind("work", WORK_LIMIT, WORK_STALE)


def compare(kind: Kind, measured: Figures, recorded: Figures) -> Iterator[tuple[str, str]]:
    """Yield case and complaint for each figure that is too large, too small or not recorded."""
    for case, figure in measured.items():
        known = recorded.get(case)
        if known is None:
            yield case, f"{case}: its {kind.name} was never recorded: {RENEW}"
            continue
        ratio = figure / known
        change = f"{case}: {figure:,.1f} of {kind.name} per allocation; {known:,.1f} is recorded"
        if ratio > kind.limit:
            yield case, f"{change}. {ratio - 1:.0%} more, at most {kind.limit - 1:.0%} is let pass"
        elif ratio < kind.stale:
            yield case, f"{change}. {1 - ratio:.0%} less: keep the gain, {RENEW}"


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
