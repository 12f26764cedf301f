"""Leaders are killed and replaced under load, again and again: nothing is lost, all is bound soon.

``REMUDA_KILLS`` says how often, ``REMUDA_UPGRADES`` how many replicas end by themselves as in a
rolling upgrade. The figures are printed (``pytest -s``).
"""

from __future__ import annotations

import os
import random
import statistics
import time
from functools import partial
from pathlib import Path
from typing import Final

import pytest

from tests.kubernetes.end_to_end.grounds import Ground, wait_until
from tests.kubernetes.end_to_end.manifests import gang, pod_manifest, task_group
from tests.kubernetes.end_to_end.objects import PODS, Object
from tests.kubernetes.end_to_end.replicas import ShimReplica
from tests.kubernetes.end_to_end.servers import Server
from tests.kubernetes.end_to_end.watchman import Watchman

NODES: Final = {f"n{number}": "8" for number in range(6)}
KILLS: Final = int(os.environ.get("REMUDA_KILLS", "10"))
UPGRADES: Final = int(os.environ.get("REMUDA_UPGRADES", "4"))
WAVE: Final = 12
# Of pods; placeholders run until they are deleted.
RUN_SECONDS: Final = 0.3
MEMBERS: Final = 3
PLACEHOLDERS: Final = {"labelSelector": "remuda/placeholder=true"}


def gang_pods(ground: Ground, number: int, members: range) -> int:
    """Create the pod that speaks for a gang, or some of its members; return how many pods."""
    app = f"gang-{number}"
    notes = gang(task_group("workers", MEMBERS, cpu="1"), timeout=300)
    bodies = []
    if members.start == 0:
        driver = f"{app}-driver"
        bodies.append(pod(driver, app, notes))
    for member in members:
        name, notes = f"{app}-{member}", gang(group="workers")
        bodies.append(pod(name, app, notes))
    for body in bodies:
        ground.api.create(PODS, body)
    return len(bodies)


def pod(name: str, app: str, notes: dict[str, str]) -> Object:
    return pod_manifest(
        name, queue="root.q1", app=app, cpu="1", annotations=notes, seconds=RUN_SECONDS
    )


def leads(replica: ShimReplica) -> bool:
    return replica.ready() == "ok"


def placeholders(ground: Ground) -> int:
    return len(ground.api.get(PODS, **PLACEHOLDERS)["items"])


@pytest.mark.long
def test_nothing_is_lost_or_doubled_when_leaders_end_again_and_again(
    server: Server, tmp_path: Path
) -> None:
    chance = random.Random(5)
    ends = ["kill"] * KILLS + ["finish"] * UPGRADES
    chance.shuffle(ends)
    seconds: dict[str, list[float]] = {"kill": [], "finish": []}
    config = server.kubeconfig
    half_placed = 0
    with (
        Ground(server, NODES) as ground,
        Watchman(config, ground.nodes) as watchman,
        ShimReplica(config, tmp_path / "0.log", "--leader-elect") as one,
        ShimReplica(config, tmp_path / "1.log", "--leader-elect") as two,
    ):
        leader, other = one, two
        leader.start()
        wait_until("the first leads", partial(leads, leader))
        other.start()
        due = 0
        for number, end in enumerate(ends):
            before = len(watchman.bound)
            due += gang_pods(ground, number, range(1))
            ground.pods(WAVE, seconds=RUN_SECONDS)
            due += WAVE
            watchman.await_bound(before + chance.randrange(1, WAVE))
            half_placed += placeholders(ground) > 0
            seen = len(watchman.bound)
            began = time.monotonic()
            getattr(leader, end)()
            ground.pods(WAVE, seconds=RUN_SECONDS)
            due += WAVE + gang_pods(ground, number, range(1, MEMBERS))
            wait_until("another leads", partial(leads, other))
            watchman.await_bound(seen + 1)
            seconds[end].append(time.monotonic() - began)
            leader.start()
            leader, other = other, leader
        watchman.await_ended(due)
        wait_until("no placeholder is left", lambda: placeholders(ground) == 0)
        names = [watchman.names[uid] for uid in watchman.ended]
        assert watchman.faults == []
        assert len(names) == len({*names}) == due
    for end, found in seconds.items():
        middle, worst = statistics.median(found), max(found)
        print(f"\n{end}: {len(found)} times, bound again after {middle:.1f} s, at most {worst:.1f}")
    print(f"{due} pods; gangs were half placed {half_placed} times")
