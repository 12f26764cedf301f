"""Compares alternatives by the figures of their runs, seed by seed.

Runs of one seed have the same arrivals, run times and failures in every alternative, so their
differences are compared and not their means. The interval is Student's: the mean difference, plus
and minus t times its standard error, with one degree of freedom fewer than seeds. Quantiles of t
are found by bisection of its distribution, which for whole degrees of freedom is a finite sum. It
assumes differences that are nearly normal. The sign test beside it assumes nothing: the probability
that coins would fall at least as unevenly as the seeds did. Neither draws random numbers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Final

from remuda.base.message import message
from remuda.study.measures import MEASURES, Measure
from remuda.study.plan import Alternative, Study

_BISECTIONS: Final = 80


@message
class Estimate:
    """A mean over seeds; the interval is from ``mean - half`` to ``mean + half``.

    ``half`` None: one seed tells nothing about others.
    """

    mean: float
    half: float | None
    seeds: int


@message
class Comparison:
    """One measure of an alternative minus that of the baseline, over the seeds that have both.

    ``better``, ``worse``: the number of seeds. ``sign_p``: of the sign test, two-sided.
    """

    trace: str
    alternative: Alternative
    measure: Measure
    baseline: Estimate
    value: Estimate
    difference: Estimate
    better: int
    worse: int
    sign_p: float

    def verdict(self) -> str:
        """Return better, worse, or unclear if the interval has 0 in it or there is none."""
        mean, half = self.difference.mean, self.difference.half
        if half is None or abs(mean) <= half:
            return "equal" if half == 0.0 and mean == 0.0 else "unclear"
        return "better" if mean * self.measure.better > 0 else "worse"


# Trace, alternative, key of a measure -> its values by seed.
Table = Mapping[tuple[str, str, str], Mapping[str, Mapping[int, float]]]


def values_of(results: Sequence[Mapping[str, object]]) -> Table:
    """Return the measures of results, without those that a run does not have."""
    found: dict[tuple[str, str, str], dict[str, dict[int, float]]] = {}
    for result in results:
        key = (str(result["trace"]), str(result["configuration"]), str(result["variant"]))
        own = found.setdefault(key, {})
        measures, seed = result["measures"], result["seed"]
        assert isinstance(measures, dict)
        assert isinstance(seed, int)
        for name, value in measures.items():
            if value is not None:
                own.setdefault(name, {})[seed] = float(value)
    return found


def compare(study: Study, table: Table) -> list[Comparison]:
    """Return all comparisons with the baseline, in the order of the study."""
    baseline, *others = study.alternatives()
    found = []
    for trace in study.traces:
        base = table[trace.name, baseline.configuration, baseline.variant]
        for alternative in others:
            own = table[trace.name, alternative.configuration, alternative.variant]
            for measure in MEASURES:
                one, other = base.get(measure.key, {}), own.get(measure.key, {})
                seeds = sorted(one.keys() & other.keys())
                if seeds:
                    before = [one[seed] for seed in seeds]
                    after = [other[seed] for seed in seeds]
                    names = (trace.name, alternative, measure)
                    found.append(_compared(names, before, after, study.confidence))
    return found


def _compared(
    names: tuple[str, Alternative, Measure],
    before: Sequence[float],
    after: Sequence[float],
    confidence: float,
) -> Comparison:
    trace, alternative, measure = names
    differences = [b - a for a, b in zip(before, after, strict=True)]
    better = sum(each * measure.better > 0 for each in differences)
    worse = sum(each * measure.better < 0 for each in differences)
    return Comparison(
        trace,
        alternative,
        measure,
        estimate(before, confidence),
        estimate(after, confidence),
        estimate(differences, confidence),
        better,
        worse,
        sign_test(better, worse),
    )


def estimate(values: Sequence[float], confidence: float) -> Estimate:
    """Return the mean of values, and its interval."""
    count = len(values)
    mean = math.fsum(values) / count
    if count == 1:
        return Estimate(mean, None, count)
    variance = math.fsum((value - mean) ** 2 for value in values) / (count - 1)
    half = student_quantile(confidence, count - 1) * math.sqrt(variance / count)
    return Estimate(mean, half, count)


def student_quantile(probability: float, freedom: int) -> float:
    """Return the t that Student's distribution does not exceed in size with a probability."""
    low, high = 0.0, math.pi / 2
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        if _within(middle, freedom) < probability:
            low = middle
        else:
            high = middle
    return math.sqrt(freedom) * math.tan(high)


def _within(angle: float, freedom: int) -> float:
    """Return the probability that ``|t|`` is at most ``sqrt(freedom) * tan(angle)``."""
    cosine = math.cos(angle)
    odd = freedom % 2
    term = cosine if odd else 1.0
    total = term if freedom > 1 else 0.0
    for number in range(3 if odd else 2, freedom - 1, 2):
        term *= cosine * cosine * (number - 1) / number
        total += term
    if odd:
        return (angle + math.sin(angle) * total) * 2 / math.pi
    return math.sin(angle) * total


def sign_test(better: int, worse: int) -> float:
    """Return the probability of a split at least as uneven, if both sides are equally likely."""
    count = better + worse
    tail = sum(math.comb(count, number) for number in range(min(better, worse) + 1))
    chance: float = 2 * tail / (1 << count)
    return min(1.0, chance)
