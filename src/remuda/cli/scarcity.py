"""What a command says if the system has too little memory, or too few threads, for it."""

from __future__ import annotations

from typing import Final

SCARCE: Final = (
    "the system gives this process no more memory or threads; raise its limits"
    " (ulimit -v, ulimit -u, or those of its control group)"
)

# What is said where the system refuses a thread, mostly for want of memory, or a shared library.
_REFUSALS: Final = (
    "can't start new thread",
    "failed to map segment from shared object",
    "cannot allocate memory",
)


def is_scarcity(error: Exception) -> bool:
    """Whether an error says that there is too little memory, or no thread more."""
    return isinstance(error, MemoryError) or any(text in str(error) for text in _REFUSALS)
