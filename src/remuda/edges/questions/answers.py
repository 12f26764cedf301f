"""What the answers to "why" and "what if" have in common, and the one that is nothing else.

They are made in a copy of the scheduler, where it is known which queue an application is in. So
what the caller may not see is left out there: ``Sees`` says whether a queue is in its scope.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from remuda.edges.questions.shapes import Shape
from remuda.insight.impact_result import ConfigImpact

# Whether the caller may read about a queue; "": about the partition.
Sees: TypeAlias = Callable[[str], bool]


class Answer(Shape, kw_only=True):
    """What all answers have: the state they are about, and lines for a person.

    ``stateVersion``: how many inputs the scheduler had got. ``text``: the conclusion comes first.
    """

    state_version: int
    timestamp: int
    text: list[str]


class ConfigImpactAnswer(Answer, kw_only=True):
    """What a configuration would change; the keys of ``impact`` are those of the Python API."""

    impact: ConfigImpact
