"""For how long a thread keeps the interpreter, in processes of their own."""

from __future__ import annotations

import subprocess
import sys

START = """
import sys
from remuda.runtime.collection import COLLECTOR
from remuda.runtime.errand import Errand
from remuda.runtime.interpreter import (
    SWITCH_INTERVAL_SECONDS, UNDISTURBED, UNDISTURBED_SECONDS, tune_interpreter
)

def near(seconds):
    return abs(sys.getswitchinterval() - seconds) < 1e-6

def now():
    return sys.getswitchinterval(), COLLECTOR.held
"""


def alone(program: str) -> None:
    """Run a program in a process of its own; it fails by an assertion."""
    done = subprocess.run(
        [sys.executable, "-c", START + program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_large_errands_of_a_served_scheduler_are_not_disturbed() -> None:
    alone("""
tune_interpreter()
assert near(SWITCH_INTERVAL_SECONDS)
small = Errand(now)
small.carry_out()
assert abs(small.future.result()[0] - SWITCH_INTERVAL_SECONDS) < 1e-6
errand = Errand(now, large=True)
errand.carry_out()
interval, held = errand.future.result()
assert abs(interval - UNDISTURBED_SECONDS) < 1e-6 and held
assert near(SWITCH_INTERVAL_SECONDS) and not COLLECTOR.held
""")


def test_an_errand_that_fails_leaves_all_as_it_was() -> None:
    alone("""
tune_interpreter()
errand = Errand(lambda: 1 // 0, large=True)
errand.carry_out()
assert isinstance(errand.future.exception(), ZeroDivisionError)
assert near(SWITCH_INTERVAL_SECONDS) and not COLLECTOR.held
""")


def test_a_program_that_embeds_the_scheduler_keeps_its_interval() -> None:
    alone("""
sys.setswitchinterval(0.004)
errand = Errand(now, large=True)
errand.carry_out()
interval, held = errand.future.result()
assert abs(interval - 0.004) < 1e-6 and not held and near(0.004)
""")
