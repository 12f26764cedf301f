"""How the process finds out what memory it has and may have (EXT-39)."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

import pytest

from remuda.telemetry.memory_limits import (
    give_back,
    group_limit,
    memory_used,
    objects,
    reusable,
)
from tests.e2e.serving import environment

pytestmark = pytest.mark.remuda_rule("EXT-39")

MIB = 1 << 20


def test_the_lowest_limit_of_the_control_groups_of_both_versions_counts(tmp_path: Path) -> None:
    own, root = tmp_path / "cgroup", tmp_path / "fs"
    assert group_limit(own, root) is None
    first, second = root / "memory" / "a" / "b", root / "c" / "d"
    first.mkdir(parents=True)
    second.mkdir(parents=True)
    own.write_text("3:cpu,memory:/a/b\n2:cpu:/z\n0::/c/d\n")
    assert group_limit(own, root) is None
    (second / "memory.max").write_text("max\n")
    (first / "memory.limit_in_bytes").write_text("9223372036854771712\n")
    assert group_limit(own, root) is None
    (root / "c" / "memory.max").write_text("5000\n")
    assert group_limit(own, root) == 5_000
    (root / "memory" / "memory.limit_in_bytes").write_text("4000\n")
    assert group_limit(own, root) == 4_000
    # A container sees the paths of its host, which it does not have.
    own.write_text("3:memory:/far/away\n")
    assert group_limit(own, root) == 4_000


def test_the_process_knows_its_memory() -> None:
    before = memory_used()
    assert before is not None
    assert before.addresses > before.private > MIB
    assert before.addresses > before.resident > MIB
    kept = bytearray(64 * MIB)
    kept[::4096] = b"x" * len(kept[::4096])
    after = memory_used()
    assert after is not None
    assert after.resident - before.resident > 32 * MIB
    give_back()
    assert 0 <= reusable() < after.addresses
    count = objects()
    more = [object() for _ in range(10_000)]
    assert objects() >= count + len(more)


@pytest.mark.parametrize("kind", ["AS", "DATA"])
def test_limits_of_the_process_are_bounds(kind: str) -> None:
    code = (
        "import resource as r; from remuda.telemetry.memory_limits import *;"
        f" r.setrlimit(r.RLIMIT_{kind}, ({10_000 * MIB}, r.RLIM_INFINITY));"
        " save_addresses();"
        " print(*[(each.name, each.kind, each.limit) for each in memory_bounds(None)"
        " if each.kind != RESIDENT])"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code],
        env=environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    field = {"AS": "addresses", "DATA": "private"}[kind]
    assert ended.stdout.strip() == f"{('RLIMIT_' + kind, field, 10_000 * MIB)}"
    assert resource.getrlimit(resource.RLIMIT_AS)[0] == resource.RLIM_INFINITY
