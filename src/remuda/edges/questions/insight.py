"""What the edges need to answer questions about a running scheduler."""

from __future__ import annotations

from remuda.base.message import message
from remuda.edges.questions.questions import Questions
from remuda.telemetry.fair_shares import FairShares


@message
class Insight:
    """What answers: ``questions`` by copies, ``shares`` with samples of the shares of queues."""

    questions: Questions
    shares: FairShares
