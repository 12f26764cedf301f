"""Settings of the interpreter for a process whose main work is scheduling.

They concern the whole process, and the loop may run inside a user's program, so the loop does not
make them. ``remuda serve`` and the benchmarks make them once, when everything is imported and
built.

Garbage collection: see collection.py.

Switch interval: how long a thread may compute while another one waits for the interpreter. With the
default of 5 ms, readers over REST would wait noticeably. But each switch costs some 0.3 ms, so
large work slows down by half or more when another thread wants the interpreter each millisecond.
Large work delays scheduling in any case, so it keeps the interpreter for longer, and no garbage is
collected meanwhile.
"""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Final, final

from remuda.runtime.collection import COLLECTOR

SWITCH_INTERVAL_SECONDS: Final = 0.0005
UNDISTURBED_SECONDS: Final = 0.02


@final
class Undisturbed:
    """Lets the core thread keep the interpreter for longer, so that large work ends sooner.

    Does nothing unless the interpreter was tuned. A context manager; not to be nested.
    """

    def __init__(self) -> None:
        self.tuned = False

    def __enter__(self) -> None:
        if self.tuned:
            sys.setswitchinterval(UNDISTURBED_SECONDS)
            COLLECTOR.held = True

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self.tuned:
            sys.setswitchinterval(SWITCH_INTERVAL_SECONDS)
            COLLECTOR.held = False


# The interval belongs to the process, so there is only one object.
UNDISTURBED: Final = Undisturbed()


def tune_interpreter() -> None:
    """Set the thread switch interval and the rules of garbage collection."""
    sys.setswitchinterval(SWITCH_INTERVAL_SECONDS)
    UNDISTURBED.tuned = True
    COLLECTOR.install()
