"""Measures the Kubernetes shim. See docs/how-to/measure-the-speed.md.

    python -m tools.kube.scale alone     the shim with a scheduler, without an API server
    python -m tools.kube.scale program   the whole program, on the fake API server
    python -m tools.kube.scale replicas  two of them: how soon the second takes over
    python -m tools.kube.scale real      the same on a real API server, as `make kube` builds it

Each prints one line for each measurement when it is done. Processor time is what other work on the
machine changes least.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Final

from remuda.base.errors import RemudaError
from remuda.bench.throughput.run import build
from remuda_kubernetes.api.errors import ApiError
from remuda_kubernetes.testing.binaries import BinariesMissingError
from remuda_kubernetes.testing.process import ApiServerProcess
from remuda_kubernetes.testing.real import RealServer
from tools.kube.scale import alone, clients, objects
from tools.kube.scale.objects import Size
from tools.kube.scale.program import Bound, Program

_NODES: Final = 5_000
_PODS: Final = 50_000
_REAL_NODES: Final = 1_000
_REAL_PODS: Final = 5_000
_STEADY_PODS: Final = 3_000
_STEADY_RATE: Final = 100.0
_SHARE: Final = 0.99
_ELECT: Final = "--leader-elect"


def main(arguments: list[str] | None = None) -> int:
    """Measure; 0 if everything was bound once."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.kube.scale",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("what", choices=sorted(_MEASUREMENTS))
    parser.add_argument("--nodes", type=int, help="of the cluster")
    parser.add_argument("--pods", type=int, help="to be bound")
    chosen = parser.parse_args(arguments)
    usual, measure = _MEASUREMENTS[chosen.what]
    size = replace(usual, nodes=chosen.nodes or usual.nodes, pods=chosen.pods or usual.pods)
    _say(f"{size.nodes:,} nodes, {size.pods:,} pods, {build()} core")
    try:
        measure(size)
    except (RemudaError, ApiError, BinariesMissingError) as error:
        sys.stderr.write(f"scale: {error}\n")
        return 1
    return 0


def _alone(size: Size) -> None:
    """Measure the shim with queues and classes of several kinds, and with pods that keep apart."""
    for name, each in (
        ("applications of 500, one queue", replace(size, each=500)),
        ("applications of 50, one queue", size),
        ("applications of 50, ten queues in turn", replace(size, queues=10)),
        ("applications of 50, each pod alone on its node", replace(size, apart=True)),
        ("applications of 50 that choose zones", replace(size, choosy=True)),
        (
            "applications of 500 that choose zones of 50 nodes",
            replace(size, each=500, choosy=True, zones=max(2, size.nodes // 50)),
        ),
    ):
        found = alone.measure(each)
        _say(
            f"{name}: {found.rate:,.0f} pods/s; us CPU each: shim {found.shim:.0f}"
            f" (its loop {found.loop:.0f}), scheduler {found.scheduler:.0f};"
            f" {found.questions / each.pods:.3f} questions and"
            f" {found.verdicts / each.pods:.1f} verdicts each; {found.megabytes:.0f} MB"
        )


def _program(size: Size) -> None:
    """Measure the start with everything bound, a crowd that waits, and a steady pace."""
    cluster = [*_first(), *objects.nodes(size)]
    with (
        ApiServerProcess([*cluster, *_running(size)]) as server,
        Program(server.kubeconfig) as program,
    ):
        seconds = program.wait_ready()
        _say(
            f"ready {seconds:.1f} s after the start, {program.processor_seconds():.1f} s CPU,"
            f" {program.megabytes():.0f} MB with the scheduler"
        )
    with (
        ApiServerProcess([*cluster, *objects.pods(size)]) as server,
        Program(server.kubeconfig) as program,
    ):
        program.wait_ready()
        _say_bound("all at once", program.wait_bound(size.pods))
    with ApiServerProcess(cluster) as server, Program(server.kubeconfig) as program:
        program.wait_ready()
        before, used = program.figures(), program.processor_seconds()
        clients.make_steadily(
            server.kubeconfig, lambda number: objects.pod(size, number), _STEADY_PODS, _STEADY_RATE
        )
        while program.bound() < _STEADY_PODS:
            program.pause()
        used = (program.processor_seconds() - used) * 1e6 / _STEADY_PODS
        shares = program.seen_within(before)
        half = next(bound for bound, share in shares if share >= 0.5)
        most = next(bound for bound, share in shares if share >= _SHARE)
        _say(
            f"at {_STEADY_RATE:.0f} pods/s, from seen to binding sent: half of them within"
            f" {half} s, 99 of 100 within {most} s; {used:.0f} us CPU each"
        )


def _running(size: Size) -> Iterator[objects.Json]:
    """Yield the pods, each on a node."""
    names = [each["metadata"]["name"] for each in objects.nodes(size)]
    for number, each in enumerate(objects.pods(size)):
        each["spec"]["nodeName"] = names[number % size.nodes]
        yield {**each, "status": {"phase": "Running"}}


def _replicas(size: Size) -> None:
    """Measure how soon another replica works after the leader's crash, and after its clean end."""
    for what, end in (("a crash", Program.kill), ("a clean end", Program.end)):
        with (
            ApiServerProcess([*_first(), *objects.nodes(size), *_running(size)]) as server,
            Program(server.kubeconfig, _ELECT) as one,
        ):
            one.wait_leading()
            with Program(server.kubeconfig, _ELECT) as two:
                two.wait_ready()
                idle = two.processor_seconds()
                _say(f"stands by: {idle:.1f} s CPU, {two.megabytes():.0f} MB with its scheduler")
                end(one)
                began = time.perf_counter()
                two.wait_leading()
                seconds = time.perf_counter() - began
                used = two.processor_seconds() - idle
                clients.make(server.kubeconfig, [objects.pod(size, size.pods)])
                while not two.bound():
                    two.pause()
                later = time.perf_counter() - began
                most = two.processor_seconds() - idle
        _say(
            f"after {what}: registered {seconds:.1f} s later, after {used:.1f} s CPU;"
            f" a pod made then is bound {later:.1f} s after {what}, after {most:.1f} s CPU"
        )


def _real(size: Size) -> None:
    """Measure bare bindings, then the program, on one real server."""
    nodes = list(objects.nodes(size))
    with RealServer() as server:
        for each in _first():
            clients.make(server.kubeconfig, [each])
        clients.make(server.kubeconfig, nodes)
        clients.untaint(server.kubeconfig, nodes)
        strangers = []
        for each in objects.pods(size):
            each["metadata"]["name"] += "-bare"
            each["spec"]["schedulerName"] = "nobody"
            strangers.append(each)
        clients.make(server.kubeconfig, strangers)
        bindings = [
            (each["metadata"]["namespace"], each["metadata"]["name"], f"node-{place:05}")
            for place, each in ((n % size.nodes, each) for n, each in enumerate(strangers))
        ]
        seconds = clients.bind(server.kubeconfig, bindings)
        _say(f"bare bindings over 16 connections: {size.pods / seconds:,.0f} pods/s")
        clients.make(server.kubeconfig, objects.pods(size))
        with Program(server.kubeconfig) as program:
            program.wait_ready()
            found = program.wait_bound(size.pods)
        _say_bound("the program", found)
        share = found.processor * found.rate / 1e6
        _say(f"the program computes for {share:.0%} of the time of one processor")


def _first() -> list[objects.Json]:
    names = ("scale", "yunikorn")
    return [*(objects.namespace(each) for each in names), objects.configuration()]


def _say_bound(name: str, found: Bound) -> None:
    _say(f"{name}: {found.rate:,.0f} pods/s bound, {found.processor:.0f} us CPU each")


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


_MEASUREMENTS: Final[dict[str, tuple[Size, Callable[[Size], None]]]] = {
    "alone": (Size(_NODES, _PODS), _alone),
    "replicas": (Size(_NODES, _PODS), _replicas),
    "program": (Size(_NODES, _PODS), _program),
    "real": (Size(_REAL_NODES, _REAL_PODS), _real),
}

if __name__ == "__main__":
    sys.exit(main())
