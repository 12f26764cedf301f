"""A process that fails on purpose, again and again: the RM comes back, and all gets placed (SI-15).

The client is an RM as others write them: when its streams end it registers again, and reports its
node, its application, what runs, and what it still asks for.
"""

from __future__ import annotations

import json
import stat
import time
from pathlib import Path
from typing import Any

import pytest

from remuda.client import Client, ClientError
from remuda.si.pb import si_pb2 as si
from remuda.si.wire import Response, resource
from tests.e2e.queue_files import ONE
from tests.e2e.serving import FREE_PORTS, Served
from tests.waiting import wait

ASKS = 60


class Manager:
    """What the RM knows: what runs, and whether its connection ended."""

    def __init__(self) -> None:
        self.running: dict[str, si.Allocation] = {}
        self.doubled: list[str] = []
        self.broken: list[str] = []
        self.wanted = [f"k{number:02}" for number in range(ASKS)]

    def hear(self, response: Response) -> None:
        if isinstance(response, si.AllocationResponse):
            for new in response.new:
                if new.allocationKey in self.running:
                    self.doubled.append(new.allocationKey)
                self.running[new.allocationKey] = new
            # An element that made the scheduler fail twice is kept out, as a pod is by its name.
            refusals = [(each.allocationKey, each.reason) for each in response.rejected]
            refusals += [(x.allocationKey, x.reason) for x in response.rejectedAllocations]
            for key, reason in refusals:
                self.running.pop(key, None)
                self.wanted.remove(key)
                self.wanted.append(f"{key}-again")
                self.broken.append(reason)

    def live(self, address: str) -> None:
        """Register and report everything; returns when all runs or the registration ended."""
        self.broken = []
        with Client(
            address,
            "manager",
            on_response=self.hear,
            on_disconnect=lambda error: self.broken.append(str(error)),
        ) as client:
            client.register(ONE, extra_config={"health.checkInterval": "1s"})
            client.add_application("app", queue="root.a", user="ann")
            node = si.NodeInfo(
                nodeID="n1",
                action=si.NodeInfo.CREATE,
                schedulableResource=resource({"vcore": 1_000_000}),
                existingAllocations=self.running.values(),
            )
            client.send(si.NodeRequest(nodes=[node]))
            for key in [key for key in self.wanted if key not in self.running]:
                client.ask("app", key, {"vcore": 1})
            wait(lambda: bool(self.broken) or len(self.running) == ASKS)


@pytest.mark.remuda_rule("SI-15", "HLT-20", "MET-52")
def test_a_scheduler_that_fails_again_and_again_places_everything_in_the_end(
    tmp_path: Path,
) -> None:
    manager = Manager()
    order = {"REMUDA_FAULT_POINTS": "1230:200:2"}
    with Served(*FREE_PORTS, "--fault-reports", str(tmp_path), **order) as served:
        deadline = time.monotonic() + 300
        while len(manager.running) < ASKS and time.monotonic() < deadline:
            try:
                manager.live(served.grpc)
            except ClientError:
                time.sleep(0.2)  # it has to wait before it may register again
        assert sorted(manager.running) == sorted(manager.wanted)
        assert manager.doubled == []
        assert served.process.poll() is None
        reports = sorted(tmp_path.glob("fault-*.json"))
        assert len(reports) == 2
        assert stat.S_IMODE(reports[0].stat().st_mode) == 0o600
        report = json.loads(reports[0].read_text())
        assert report["fault"].startswith("InjectedFault: fault 1, which")
        assert report["rmID"] == "manager"
        wait(lambda: not _health(served)["Healthy"])
        told = [entry["DiagnosisMessage"] for entry in _health(served)["HealthChecks"]]
        assert any("the latest: InjectedFault" in text for text in told)
        metrics = served.client.get("/ws/v1/metrics").text
        (line,) = [
            line
            for line in metrics.splitlines()
            if line.startswith("yunikorn_scheduler_faults_total ")
        ]
        assert float(line.split()[1]) == len(reports)
        assert "ends the registration of resource manager 'manager'" in served.log


def _health(served: Served) -> dict[str, Any]:
    found: dict[str, Any] = served.client.get("/ws/v1/scheduler/healthcheck").json()
    return found
