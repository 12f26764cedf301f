"""Settings of the interpreter for a process whose main work is scheduling.

They concern the whole process, so the loop, which may run inside somebody's program, does not make
them; ``remuda serve`` and the benchmarks do, once, when everything is imported and built.

Garbage collection: see collection.py.

Switch interval: for how long a thread may compute while another one waits for the interpreter. The
default of 5 ms would show as latency, of those who read over REST above all. But each switch costs
0.3 ms until both threads are awake again, so that what takes 30 ms takes 60 when somebody wants the
interpreter each millisecond. So what is large, and holds scheduling up however it is done, keeps
the interpreter for longer, to be over soon, and no garbage is looked for meanwhile.
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
    """Work of the core thread that other threads wait for, whatever they want, a little longer.

    It does nothing until the interpreter was tuned. A context manager; not to be nested.
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


# That of this process.
UNDISTURBED: Final = Undisturbed()


def tune_interpreter() -> None:
    """Set the thread switch interval, and when garbage is looked for."""
    sys.setswitchinterval(SWITCH_INTERVAL_SECONDS)
    UNDISTURBED.tuned = True
    COLLECTOR.install()
