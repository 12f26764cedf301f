"""``remuda explain``, ``dry-run`` and ``config impact`` against a served scheduler."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.serving import FREE_PORTS, PARTITION, Served, run_remuda
from tests.waiting import wait

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="copies take /proc")


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with Served(*FREE_PORTS, "--demo") as running:
        wait(lambda: running.client.get(f"{PARTITION}/applications/active").json() != [])
        yield running
        assert "Traceback" not in running.log


@pytest.mark.remuda_rule("EXT-72", "EXT-64")
@pytest.mark.parametrize(
    "arguments, code, said",
    [
        (("--queue", "root.production.web", "--cpus", "1000000"), 3, "dry-run in root.production"),
        (("--queue", "root.none", "--cpus", "1"), 4, "dry-run: refused"),
        (("--partition", "none", "--cpus", "1"), 2, "Partition not found"),
        (("--cpus", "x"), 2, "The submission is wrong: vcore is 'x'"),
    ],
)
def test_a_dry_run_ends_with_its_outcome(
    served: Served, arguments: tuple[str, ...], code: int, said: str
) -> None:
    ended = run_remuda("dry-run", *arguments, "--server", served.rest)
    assert ended.returncode == code, ended
    assert said in (ended.stderr if code == 2 else ended.stdout)


@pytest.mark.remuda_rule("EXT-71")
def test_an_application_that_is_not_there_is_code_three(served: Served) -> None:
    ended = run_remuda("explain", "none", "--server", served.rest)
    assert (ended.returncode, ended.stderr) == (
        3,
        "remuda: application 'none': Application not found\n",
    )


@pytest.mark.remuda_rule("EXT-71", "EXT-62")
def test_an_ask_is_explained(served: Served) -> None:
    def explained() -> bool:
        """Whether some allocation had not ended before it was asked about."""
        nodes = served.client.get(f"{PARTITION}/nodes").json()
        for one in [each for node in nodes for each in node.get("allocations", ())][-3:]:
            name = (one["applicationId"], one["allocationKey"])
            ended = run_remuda("explain", *name, "--server", served.rest)
            if ended.returncode == 0:
                assert ended.stdout.startswith("/".join(name))
                return True
            assert ended.returncode == 3
        return False

    wait(explained)


@pytest.mark.remuda_rule("EXT-73", "EXT-70")
def test_the_configuration_in_force_has_no_impact(served: Served, tmp_path: Path) -> None:
    file = tmp_path / "same.yaml"
    file.write_bytes(served.client.get("/ws/v1/config?raw=true").content)
    ask = ("config", "impact", str(file), "--within", "1", "--server", served.rest)
    ended = run_remuda(*ask, "--output", "json")
    assert ended.returncode == 0, ended
    found = json.loads(ended.stdout)
    assert found["within_seconds"] == 1.0
    assert (found["queues_gone"], found["moved"], found["quotas_below_usage"]) == ([], [], [])
    file.write_text("partitions: 7\n")
    ended = run_remuda(*ask)
    assert ended.returncode == 2
    assert "config:1:13" in ended.stderr
