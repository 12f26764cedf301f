"""What a command says if the system has too little memory, or too few threads, for it."""

from __future__ import annotations

from typing import Final

SCARCE: Final = (
    "the system gives this process no more memory or threads; raise its limits"
    " (ulimit -v, ulimit -u, or those of its control group)"
)

# What Python says where the system refuses a thread, mostly for want of memory.
_NO_THREAD: Final = "can't start new thread"


def is_scarcity(error: Exception) -> bool:
    """Whether an error says that there is too little memory, or no thread more."""
    return isinstance(error, MemoryError) or str(error) == _NO_THREAD
