"""When garbage is looked for. What concerns a whole process is tried in one of its own."""

from __future__ import annotations

import subprocess
import sys

import pytest

START = """
import gc, sys, weakref
from remuda.runtime.collection import BATCH, PAUSE_NS, Collector

class Thing:
    pass

def cycle():
    one, other = Thing(), Thing()
    one.other, other.one = other, one
    return weakref.ref(one)

now_ns = 10 * PAUSE_NS
collector = Collector(lambda: now_ns)
collector.install()
"""


def alone(program: str) -> None:
    """Run a program in a process of its own; it fails by an assertion."""
    done = subprocess.run(
        [sys.executable, "-c", START + program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_cycles_are_collected_while_objects_come_and_go() -> None:
    alone("""
garbage = []
for second in range(20):
    now_ns += PAUSE_NS
    garbage += [cycle() for _ in range(BATCH // 4)]
    held = [[number] for number in range(BATCH)]
alive = sum(each() is not None for each in garbage)
assert len(garbage) == 5 * BATCH and alive <= BATCH, alive
assert collector.looked >= 19
""")


def test_objects_that_come_all_at_once_are_set_apart_unseen() -> None:
    alone("""
held = [[number] for number in range(BATCH * 50)]
assert collector.looked == 1 and 40 <= collector.passed <= 50, collector.passed
now_ns += PAUSE_NS
more = [[number] for number in range(BATCH * 2)]
assert collector.looked == 2, collector.looked
""")


def test_nothing_is_looked_at_twice() -> None:
    alone("""
held = []
for second in range(10):
    now_ns += PAUSE_NS
    held.append([[number] for number in range(BATCH)])
    assert sum(map(len, map(gc.get_objects, (1, 2)))) < BATCH // 10
    assert len(gc.get_objects(0)) <= BATCH + 10
""")


def test_objects_that_were_set_apart_are_freed_when_nobody_has_them() -> None:
    alone("""
thing = Thing()
seen = weakref.ref(thing)
gc.freeze()
del thing
assert seen() is None
""")


def test_what_is_set_apart_is_not_looked_at_again() -> None:
    alone("""
held = [[number] for number in range(BATCH // 2)]
assert len(gc.get_objects(0)) > BATCH // 2
collector.set_apart()
assert len(gc.get_objects(0)) < 10
""")
    alone("""
gc.unfreeze()
Collector().set_apart()
assert gc.get_freeze_count() == 0
""")


def test_somebody_may_ask_for_a_full_collection() -> None:
    alone("""
first = cycle()
gc.freeze()
gc.collect()
assert first() is not None
assert collector.collect_all() >= 2
assert first() is None
assert any(isinstance(each, type) for each in collector.objects())
assert len(gc.get_objects()) < 1000
""")


def test_a_program_that_embeds_the_scheduler_keeps_its_collector() -> None:
    alone("""
gc.callbacks.clear(); gc.unfreeze(); gc.set_threshold(700, 10, 10)
from remuda.edges.inproc import InProcessScheduler
with InProcessScheduler() as scheduler:
    scheduler.wait_idle(10)
from remuda.runtime.collection import COLLECTOR
assert gc.isenabled() and gc.get_threshold() == (700, 10, 10)
assert gc.callbacks == [] and gc.get_freeze_count() == 0
COLLECTOR.collect_all()
assert gc.get_freeze_count() == 0
""")


@pytest.mark.parametrize("times", [1, 2])
def test_a_served_process_uses_it_once(times: int) -> None:
    alone(f"""
from remuda.runtime.collection import COLLECTOR
from remuda.runtime.interpreter import tune_interpreter
gc.callbacks.clear()
for _ in range({times}):
    tune_interpreter()
assert gc.callbacks == [COLLECTOR] and gc.get_threshold()[0] == BATCH
assert gc.get_freeze_count() > 1_000
""")


def test_nothing_is_looked_at_while_something_large_is_done() -> None:
    alone("""
looked = collector.looked
collector.held = True
for second in range(5):
    now_ns += PAUSE_NS
    kept = [[number] for number in range(BATCH * 2)]
assert collector.looked == looked and collector.passed >= 5, (collector.looked, collector.passed)
collector.held = False
more = [[number] for number in range(BATCH * 2)]
assert collector.looked == looked + 1
""")
