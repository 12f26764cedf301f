"""Flood a scheduler whose memory is limited, and say what it does.

    python -m tools.scarce_memory --by ulimit --limit 600 --note 10 --seconds 30

Two resource managers ask for more than there is room for, beside the cluster of the demo, and go on
for so many seconds after the first ask was refused. Then one releases an allocation, and both
remove their applications. Fails if the scheduler ended, reached its limit, or ended what ran.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from threading import Event
from typing import Final

from remuda.base.message import message
from tests.e2e.memory_load import RUNS, WAITS, FloodingManager
from tests.e2e.serving import FREE_PORTS, Served
from tests.waiting import wait

_LIMITED: Final = ("sh", "-c", 'ulimit -v "$0" && exec "$@"')
_ASKS: Final = 1_000
_LONG_NOTE_ASKS: Final = 100
_LONG_NOTE: Final = 1_000


@message
class Flood:
    """What is tried. ``by``: how ``limit``, in MiB, is set; ``note``: characters of a tag."""

    by: str
    limit: int
    note: int
    seconds: float

    def served(self) -> Served:
        """Return a scheduler with the limit, not yet started."""
        if self.by == "ulimit":
            return Served(*FREE_PORTS, "--demo", within=(*_LIMITED, str(self.limit * 1024)))
        return Served(*FREE_PORTS, "--demo", "--memory-limit", str(self.limit))

    def used(self, process: int) -> int:
        """Return the highest use so far of what is limited, in MiB."""
        field = "VmPeak" if self.by == "ulimit" else "VmHWM"
        found = re.search(rf"{field}:\s+(\d+)", Path(f"/proc/{process}/status").read_text("ascii"))
        return int(found[1]) // 1024 if found else 0

    def fill(self, manager: FloodingManager, stop: Event) -> None:
        """Ask again and again, while connected."""
        count = _ASKS if self.note < _LONG_NOTE else _LONG_NOTE_ASKS
        while not stop.is_set() and not manager.broken:
            manager.ask(count, self.note)


def tell(flood: Flood) -> bool:
    """Do it, and print what happened; return whether all was well."""
    with ExitStack() as running:
        served = running.enter_context(flood.served())
        managers = [running.enter_context(FloodingManager(served.grpc, name)) for name in "ab"]
        _fill(flood, managers)
        used = flood.used(served.process.pid)
        print(
            f"scarce memory: {sum(each.refused for each in managers):,} of"
            f" {sum(each.sent for each in managers):,} asks refused; at most {used} MiB of"
            f" {flood.limit} ({100 * used / flood.limit:.0f} %)"
        )
        broken = [str(error) for each in managers for error in each.broken]
        if broken:
            print(f"scarce memory: a connection broke: {broken[0]}")
            return False
        released, admitted = _seconds_to_release(managers[0]), _seconds_to_admit(managers)
        ended = [key for each in managers for key in each.ended]
        print(
            f"scarce memory: a release was heard after {released:.2f} s; new work was accepted"
            f" {admitted:.1f} s after the flood was removed; ended: {', '.join(ended)}"
        )
        return used < flood.limit and ended == ["second"] and "Traceback" not in served.log


def _fill(flood: Flood, managers: list[FloodingManager]) -> None:
    """Have all of them ask, until so many seconds after the first refusal."""
    stop = Event()
    with ThreadPoolExecutor(len(managers)) as threads:
        floods = [threads.submit(flood.fill, each, stop) for each in managers]
        try:
            wait(lambda: any(each.broken or each.refused for each in managers))
            stop.wait(flood.seconds)
        finally:
            stop.set()
    for each in floods:
        each.result()


def _seconds_to_release(manager: FloodingManager) -> float:
    began = time.monotonic()
    manager.client.release(RUNS, key="second")
    wait(lambda: manager.ended == ["second"])
    return time.monotonic() - began


def _seconds_to_admit(managers: list[FloodingManager]) -> float:
    began = time.monotonic()
    for each in managers:
        each.client.remove_application(WAITS)
    wait(lambda: managers[0].accepted("later"))
    return time.monotonic() - began


def main() -> int:
    """Do it; 1 if something was wrong."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--by", choices=("ulimit", "option"), default="ulimit")
    parser.add_argument("--limit", type=int, default=600, help="MiB")
    parser.add_argument("--note", type=int, default=10, help="characters of a tag of each ask")
    parser.add_argument("--seconds", type=float, default=30.0, help="after the first refusal")
    options = parser.parse_args()
    flood = Flood(options.by, options.limit, options.note, options.seconds)
    return 0 if tell(flood) else 1


if __name__ == "__main__":
    sys.exit(main())
