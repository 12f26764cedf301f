"""Predicates that never change their mind, so that nothing waits for them to."""

from __future__ import annotations

import zlib

from remuda.core.ports import PreemptionAnswer, PreemptionQuestion, PreemptionVerdict


def picky(rm_id: str, allocation_key: str, node_id: str, allocate: bool) -> str:
    """Why a task does not like a node, "" if it does not mind.

    More of them mind to take the place of a placeholder, or to reserve.
    """
    number = zlib.crc32(f"{rm_id} {allocation_key} {node_id} {allocate}".encode())
    return f"{node_id} is not liked" if number % (6 if allocate else 2) == 0 else ""


def picky_about_victims(question: PreemptionQuestion) -> PreemptionAnswer:
    """Whether a task would like a node without some of what is there (SI-81).

    The same nodes as for anything that is to run there; sometimes one more has to go.
    """
    verdicts: list[PreemptionVerdict] = []
    for item in question.items:
        refused = picky(question.rm_id, item.allocation_key, item.node_id, True)
        more = zlib.crc32(f"{item.allocation_key} {item.node_id}".encode()) % 4 == 0
        last = min(item.start_index + more, len(item.victims) - 1)
        verdicts.append(PreemptionVerdict(not refused, -1 if refused else last))
    return PreemptionAnswer(tuple(verdicts))
