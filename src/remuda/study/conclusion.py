"""What a study found, in sentences: which figures of an alternative are better, and which worse."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from remuda.base.message import message
from remuda.study.comparison import Comparison
from remuda.study.measures import MAIN
from remuda.study.tables import wording

# A verdict, and how it is said; the order is that of importance.
_WORDS: Final = {
    "better": "better",
    "worse": "worse",
    "unclear": "not clear beyond chance",
    "equal": "equal",
}
# Beside the main measures: what is told only if it is better or worse.
_ALSO: Final = ("pending", "victims", "lost_work")


@message
class Conclusion:
    """What was found about one alternative on one trace; ``baseline``: what it is compared with."""

    trace: str
    alternative: str
    baseline: str
    comparisons: Sequence[Comparison]

    def title(self) -> str:
        """Return what is compared."""
        return f"{self.trace}: {self.alternative}, compared with {self.baseline}"

    def parts(self) -> list[tuple[str, str, list[str]]]:
        """Return each verdict that occurs, how it is said, and the figures that have it."""
        found: dict[str, list[str]] = {verdict: [] for verdict in _WORDS}
        for each in self.comparisons:
            verdict = each.verdict()
            known = _ALSO if verdict in ("better", "worse") else ()
            if each.measure.key in (*MAIN, *known):
                found[verdict].append(_text(each, verdict))
        return [(verdict, _WORDS[verdict], texts) for verdict, texts in found.items() if texts]

    def __str__(self) -> str:
        """Return it as lines of text, one for each figure."""
        lines = [self.title()]
        for _, word, texts in self.parts():
            lines += [f"  {word}", *(f"    {text}" for text in texts)]
        return "\n".join(lines)


def conclusions(baseline: str, comparisons: Sequence[Comparison]) -> list[Conclusion]:
    """Return a conclusion for each trace and alternative; ``baseline``: how it is called.

    Implements: EXT-93.
    """
    found: dict[tuple[str, str], list[Comparison]] = {}
    for each in comparisons:
        found.setdefault((each.trace, each.alternative.label()), []).append(each)
    return [Conclusion(trace, label, baseline, own) for (trace, label), own in found.items()]


def _text(each: Comparison, verdict: str) -> str:
    title, measure = each.measure.title, each.measure
    if verdict == "equal":
        return title
    before, after = each.baseline.mean, each.value.mean
    larger = max(before, after)
    texts = [wording(measure, value, like=larger) for value in (after, before)]
    if texts[0] == texts[1]:
        return f"{title} about {texts[0]} in both"
    return f"{title} {texts[0]} instead of {texts[1]}"
