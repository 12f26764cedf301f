"""The gates an ask must pass to be placed: why one waits is the name of a gate."""

from __future__ import annotations

from typing import Final

PAUSED: Final = "resource manager is paused"
HALTED: Final = "stopped by an operator"
STOPPED: Final = "application is ending"
TURN: Final = "turn of another application"
BACKOFF: Final = "back-off"
MAX_APPLICATIONS: Final = "max applications"
USER_QUOTA: Final = "user quota"
QUEUE_QUOTA: Final = "queue quota"
GANG: Final = "gang"
REQUIRED_NODE: Final = "required node"
NODES: Final = "nodes"

# In the order in which they are asked (CYC-11, CYC-12).
ORDER: Final = (
    PAUSED,
    HALTED,
    STOPPED,
    TURN,
    BACKOFF,
    MAX_APPLICATIONS,
    USER_QUOTA,
    QUEUE_QUOTA,
    GANG,
    REQUIRED_NODE,
    NODES,
)
