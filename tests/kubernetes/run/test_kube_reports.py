"""The metrics of the shim are those that the manual lists."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

from remuda_kubernetes.api.calls import Calls
from remuda_kubernetes.api.connection import Connection
from remuda_kubernetes.api.discovery import Served
from remuda_kubernetes.api.events import Events, EventSettings
from remuda_kubernetes.api.kubeconfig import Access
from remuda_kubernetes.api.leadership import NoFence
from remuda_kubernetes.api.reflectors import Reflectors
from remuda_kubernetes.objects.kinds import POD
from remuda_kubernetes.reports.sources import Sources
from remuda_kubernetes.service import Service
from remuda_kubernetes.shim.shim import Shim
from remuda_kubernetes.translation.settings import Settings

MANUAL = Path(__file__).parents[3] / "docs/reference/metrics.md"


def listed() -> set[str]:
    section = MANUAL.read_text().partition("## The Kubernetes shim")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (`.*?`) \|", section, re.MULTILINE)
    return {name for row in rows for name in re.findall(r"`(\w+)`", row)}


def test_the_manual_lists_all_metrics_of_the_shim() -> None:
    async def test() -> str:
        served = Served("v1.32.0", {POD: "v1"})
        async with Connection(Access(server="http://127.0.0.1:1", source="a test")) as connection:
            calls = Calls(connection, served, fence=NoFence())
            events = Events(connection, "v1", EventSettings(instance="a"))
            service = Service(Shim(Settings(), "rm", "yunikorn"), calls, events)
            reflectors = Reflectors(connection, served, service.deliver, namespace="yunikorn")
            return Sources(service, reflectors, calls, events, connection).metrics()

    text = asyncio.run(test())
    types = re.findall(r"^# TYPE remuda_kubernetes_(\w+) (\w+)$", text, re.MULTILINE)
    assert {name for name, kind in types if not name.endswith("_created")} == listed()
