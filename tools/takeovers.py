"""Kill or end the active one of two schedulers under load, again and again, and count.

    python -m tools.takeovers --count 200 --signal KILL

Needs what `make etcd` installs. A resource manager asks all the time, and knows both addresses. Two
times are taken from each signal: until the standby is active, and until the manager hears the first
allocation of it. At the end nothing may be lost or doubled.
"""

from __future__ import annotations

import argparse
import signal
import statistics
import sys
import time
from typing import Final

from remuda_kubernetes.testing.kept import free_ports
from tests.e2e.etcd_server import Etcd, missing
from tests.e2e.lease_load import LoadedManager
from tests.e2e.serving import Served
from tests.waiting import wait

_OPTIONS: Final = ("--rest-address", "127.0.0.1:0", "--lease-ttl", "3s")


def started(etcd: Etcd, port: int) -> Served:
    """Return a running scheduler that listens on a port."""
    address = ("--grpc-address", f"127.0.0.1:{port}")
    return Served(*address, *_OPTIONS, "--lease", etcd.lease).__enter__()


def active(served: Served) -> bool:
    """Whether a scheduler is the active one."""
    return served.client.get("/readyz").text == "ok\n"


class Pair:
    """Two schedulers and their manager. ``first`` is the active one.

    ``switched``, ``placed``: seconds from each signal until the standby was active, and until the
    manager heard its first allocation.
    """

    def __init__(self, etcd: Etcd, ports: list[int], manager: LoadedManager) -> None:
        self._etcd = etcd
        self._manager = manager
        self.first, self.second = [started(etcd, port) for port in ports]
        self.switched: list[float] = []
        self.placed: list[float] = []

    def take_over(self, number: signal.Signals) -> None:
        """Send a signal to the active one, wait for the other, start the first one again."""
        manager = self._manager
        wait(lambda: active(self.first) or active(self.second))
        if active(self.second):
            self.first, self.second = self.second, self.first
        wait(lambda: manager.heard > 0 and len(manager.running) > 20)
        lives, began = manager.lives, time.monotonic()
        self.first.process.send_signal(number)
        wait(lambda: active(self.second))
        came = time.monotonic()
        wait(lambda: manager.lives > lives and manager.heard > came)
        self.switched.append(came - began)
        self.placed.append(manager.heard - began)
        self.first.end()
        self.first.__exit__(None, None, None)
        self.first = started(self._etcd, int(self.first.grpc.rpartition(":")[2]))

    def tell(self) -> None:
        """Print the times so far."""
        print(
            f"{len(self.placed)}: standby active after {_times(self.switched)},"
            f" first allocation after {_times(self.placed)}",
            flush=True,
        )

    def end(self) -> None:
        """Kill both."""
        for each in (self.first, self.second):
            each.__exit__(None, None, None)


def _times(seconds: list[float]) -> str:
    return f"{statistics.median(seconds):.2f} s (at most {max(seconds):.2f})"


def main() -> int:
    """Do it; 1 if something was lost or doubled."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--signal", choices=("KILL", "TERM"), default="KILL")
    options = parser.parse_args()
    if reason := missing():
        print(f"takeovers: {reason}")
        return 1
    ports = free_ports(2)
    manager = LoadedManager(",".join(f"127.0.0.1:{port}" for port in ports))
    with Etcd() as etcd:
        pair = Pair(etcd, ports, manager)
        with manager:
            for _ in range(options.count):
                pair.take_over(signal.Signals[f"SIG{options.signal}"])
                pair.tell()
            manager.asking = False
            wait(manager.settled)
            (partition,) = pair.second.client.get("/ws/v1/partitions").json()
        pair.end()
    known, running = partition["totalContainers"], len(manager.running)
    print(
        f"takeovers: {options.count} by SIG{options.signal}, {manager.asked} tasks,"
        f" lost {max(0, running - known)}, doubled {len(manager.doubled) + max(0, known - running)}"
    )
    return 1 if manager.doubled or known != running else 0


if __name__ == "__main__":
    sys.exit(main())
