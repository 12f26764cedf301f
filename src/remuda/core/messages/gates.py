"""The gates an ask must pass to be placed; the name of a gate is the reason why an ask waits."""

from __future__ import annotations

from typing import Final

PAUSED: Final = "resource manager is paused"
HALTED: Final = "stopped by an operator"
ENDING: Final = "application is ending"
TURN: Final = "turn of another application"
BACKOFF: Final = "back-off"
MAX_APPLICATIONS: Final = "max applications"
USER_QUOTA: Final = "user quota"
QUEUE_QUOTA: Final = "queue quota"
GANG: Final = "gang"
REQUIRED_NODE: Final = "required node"
NODES: Final = "nodes"

# Reasons to wait that are no gates of their own: no finding names them (CYC-12, EXT-14, EXT-17).
NOT_SERVED: Final = "not served"
AWAITING_PREDICATES: Final = "awaiting predicates"
POSTPONED: Final = "postponed"

# The gates in the order in which they are checked (CYC-11, CYC-12).
ORDER: Final = (
    PAUSED,
    HALTED,
    ENDING,
    TURN,
    BACKOFF,
    MAX_APPLICATIONS,
    USER_QUOTA,
    QUEUE_QUOTA,
    GANG,
    REQUIRED_NODE,
    NODES,
)
