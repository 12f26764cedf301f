"""A process that comes close to a limit of its memory: it takes nothing new and ends nothing."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.e2e.memory_load import RUNNING, RUNS, WAITS, FloodingManager
from tests.e2e.serving import FREE_PORTS, Served
from tests.waiting import wait

pytestmark = pytest.mark.remuda_rule("EXT-39")

MIB = 1 << 20
DUMP = "/ws/v1/fullstatedump"
HEALTH = "/ws/v1/scheduler/healthcheck"
REFUSED = "new asks and applications are refused: the scheduler uses"

# Runs a command that sees one directory as the control groups of the system.
GROUPS = ("unshare", "--map-root-user", "--mount", "sh", "-c")
BOUND = 'mount --bind "$0" /sys/fs/cgroup && exec "$@"'


def measured(text: str, series: str) -> float:
    """Return the value of a metric in the text of all."""
    (line,) = [each for each in text.splitlines() if each.startswith(f"{series} ")]
    return float(line.rpartition(" ")[2])


def check(note: int, *options: str, within: Sequence[str] = ()) -> Served:
    """Fill a process up to its limit, and free the memory again."""
    with (
        Served(*FREE_PORTS, *options, within=within) as served,
        FloodingManager(served.grpc) as manager,
    ):
        client = manager.client
        manager.flood(note)
        assert "release what is not needed, or send it again later" in manager.reason
        wait(lambda: REFUSED in served.log)
        assert not manager.accepted("later")
        # What runs goes on, and what gives room or frees memory is taken.
        client.add_nodes({"n2": {"vcore": 1}})
        client.release(RUNS, key="second")
        wait(lambda: manager.ended == ["second"])
        wait(lambda: '"Healthy":false' in served.client.get(HEALTH).text)
        metrics = served.client.get("/ws/v1/metrics").text
        assert measured(metrics, "yunikorn_scheduler_memory_shortage") == 1
        assert measured(metrics, 'yunikorn_scheduler_limit_hits_total{limit="memory"}') > 0
        refused = served.client.get(DUMP)
        assert (refused.status_code, refused.headers["retry-after"]) == (503, "10")
        client.remove_application(WAITS)
        wait(lambda: manager.accepted("later"))
        wait(lambda: "are accepted again" in served.log)
        wait(lambda: '"Healthy":true' in served.client.get(HEALTH).text)
        assert served.client.get(DUMP).status_code == 200
        client.ask("later", "last", {"vcore": 1})
        wait(lambda: manager.placed == [*RUNNING, "last"])
        assert manager.ended == ["second"]
        assert not manager.broken
        assert served.process.poll() is None
        assert "Traceback" not in served.log
    return served


def test_small_asks_are_refused_and_what_they_leave_is_used_again() -> None:
    served = check(10, "--memory-limit", "150")
    assert "of the 150 MiB that it may (--memory-limit)" in served.log


def test_addresses_may_be_limited() -> None:
    limit = ("sh", "-c", 'ulimit -v "$0" && exec "$@"', str(450 * 1024))
    served = check(20_000, within=limit)
    assert "of the 450 MiB that it may (RLIMIT_AS)" in served.log


def test_a_control_group_may_limit_it(tmp_path: Path) -> None:
    within = (*GROUPS, BOUND, str(tmp_path))
    if shutil.which("unshare") is None or subprocess.run([*within, "true"], check=False).returncode:
        pytest.skip("the system lets nobody mount")
    (tmp_path / "memory.max").write_text(f"{150 * MIB}\n")
    served = check(20_000, within=within)
    assert "of the 150 MiB that it may (control group)" in served.log
