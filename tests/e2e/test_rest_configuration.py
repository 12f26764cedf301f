"""The configuration of a served scheduler over HTTP: fetched, checked, and what it leads to."""

from __future__ import annotations

import subprocess
import sys
import time
from typing import Any

import pytest
import yaml

from remuda.demo.run import demo_configuration
from tests.e2e.serving import FREE_PORTS, PARTITION, Served, environment

CONFIG = "/ws/v1/config"
VALIDATE = "/ws/v1/validate-conf"


def registered(served: Served) -> Any:
    """Return the JSON configuration once the demo's resource manager is there; bounded."""
    deadline = time.monotonic() + 20
    while True:
        shown = served.client.get(CONFIG, headers={"Accept": "application/json"}).json()
        if "Partitions" in shown or time.monotonic() > deadline:
            return shown
        time.sleep(0.05)


@pytest.mark.remuda_rule("REST-24", "REST-57", "REST-59", "REST-60", "TOOL-1", "TOOL-3")
def test_what_is_in_force_can_be_fetched_and_used_again() -> None:
    with Served(*FREE_PORTS, "--demo") as served:
        shown = registered(served)
        text = served.client.get(f"{CONFIG}?raw=true").text
        assert text == demo_configuration()
        document = yaml.safe_load(served.client.get(CONFIG).text)
        assert document["checksum"] == shown["Checksum"]
        names = [queue["name"] for queue in document["partitions"][0]["queues"]]
        assert names == ["root"] == [each["Name"] for each in shown["Partitions"][0]["Queues"]]
        assert served.client.post(VALIDATE, content=text).json() == {"allowed": True}
        checked = subprocess.run(
            [sys.executable, "-m", "remuda", "validate", "-"],
            env=environment(),
            input=text.encode(),
            capture_output=True,
            timeout=60,
            check=False,
        )
        assert (checked.returncode, checked.stderr) == (0, b"")


@pytest.mark.remuda_rule("REST-25", "REST-60", "REST-61", "TOOL-2", "TOOL-3")
def test_a_scheduler_without_resource_managers_checks_configurations() -> None:
    with Served(*FREE_PORTS) as served:
        assert yaml.safe_load(served.client.get(CONFIG).text) == {
            "deadlockdetectionenabled": False,
            "deadlocktimeoutseconds": 60,
        }
        refused = served.client.post(VALIDATE, content="partitions: [{name: a}]").json()
        assert refused["allowed"] is False
        assert "[CFG-41]" in refused["reason"]
        assert served.client.post(VALIDATE, content=b"x" * 4_194_305).status_code == 413
        assert served.client.post(VALIDATE).json() == {"allowed": True}
        for path in ("placementrules", "usage/users", "usage/user/ann", "usage/groups"):
            answer = served.client.get(f"{PARTITION}/{path}")
            assert (answer.status_code, answer.json()["message"]) == (404, "Partition not found")
        assert served.client.get("/ws/v1/partitions").content == b"[]\n"


@pytest.mark.remuda_rule("REST-37", "REST-38", "REST-39", "REST-50", "PLC-16")
def test_the_demo_shows_its_rules_and_users() -> None:
    with Served(*FREE_PORTS, "--demo") as served:
        registered(served)
        rules = served.client.get(f"{PARTITION}/placementrules").json()
        assert [rule["name"] for rule in rules] == ["provided", "recovery"]
        deadline = time.monotonic() + 20
        users: list[Any] = []
        while not users and time.monotonic() < deadline:
            users = served.client.get(f"{PARTITION}/usage/users").json()
            time.sleep(0.05)
        first = users[0]
        assert first["queues"]["queuePath"] == "root"
        assert first["queues"]["runningApplications"]
        one = served.client.get(f"{PARTITION}/usage/user/{first['userName']}")
        assert (one.status_code, one.json()["userName"]) == (200, first["userName"])
        # Nothing in the demo's configuration limits groups, so none is tracked (LIM-31).
        assert served.client.get(f"{PARTITION}/usage/groups").content == b"[]\n"
