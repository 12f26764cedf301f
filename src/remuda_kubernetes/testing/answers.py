"""What a verb answers: a body of JSON and a code."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer to be sent. ``body``: JSON."""

    body: bytes
    code: int = 200
