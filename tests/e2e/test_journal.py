"""A served process that writes a journal: over crashes, and when its disk is full."""

from __future__ import annotations

import resource
import time
from functools import partial
from pathlib import Path
from random import Random
from signal import SIGKILL, SIGTERM

import pytest

from remuda.client import Client
from remuda.runtime.journals.disk import FLUSH_SECONDS
from remuda.runtime.journals.layout import listed
from remuda.runtime.journals.repeating import FileResult, replay_journal
from tests.e2e.serving import FREE_PORTS, Served, run_remuda
from tests.waiting import wait

HEALTH = "/ws/v1/scheduler/healthcheck"

# A segment ends after 256 KiB.
SMALL = ("--journal-size", "1")


def work(served: Served, rm_id: str, asks: int) -> None:
    """Register a resource manager and have something placed for it, one ask at a time."""
    with Client(served.grpc, rm_id) as client:
        client.register(extra_config={"health.checkInterval": "20ms"})
        client.add_nodes({"n1": {"vcore": 100 * asks}})
        client.add_application("app", tags={"namespace": "a"})
        for number in range(asks):
            client.ask("app", f"k{number}", {"vcore": 100})
        client.allocations(asks)


def metrics(served: Served) -> dict[str, float]:
    """The metrics of the journal by name, without their prefix."""
    lines = served.client.get("/ws/v1/metrics").text.splitlines()
    start = "yunikorn_journal_"
    found = [line.removeprefix(start).split() for line in lines if line.startswith(start)]
    return {name: float(value) for name, value in found}


def written(directory: Path, text: bytes, after: int = 0) -> bool:
    """Whether a segment that begins after an input has a text."""
    found = [each.inputs for each in listed(directory) if each.first > after]
    return any(text in inputs.read_bytes() for inputs in found)


def newest(directory: Path) -> int:
    """The first input of the newest segment, 0 if there is none."""
    segments = listed(directory)
    return segments[-1].first if segments else 0


def compared(directory: Path) -> list[FileResult]:
    """What a replay finds; no input differs."""
    found = list(replay_journal(directory))
    assert [each.result.difference for each in found if each.result] == [""] * len(found)
    return found


def killed(directory: Path, times: int, asks: int) -> int:
    """Kill a process again and again while it works, at random moments between two writes.

    All that is on the disk can be repeated.

    Return the number of segments.
    """
    found: list[FileResult] = []
    chance = Random(times)
    for number in range(times):
        before = newest(directory)
        with Served(*FREE_PORTS, "--journal", str(directory), *SMALL) as served:
            work(served, f"rm-{number}", asks)
            for text in (b'"rm-%d"' % number, b'"k%d"' % (asks - 1)):
                wait(partial(written, directory, text, before))
            with Client(served.grpc, "late") as client:
                client.register()
                client.add_nodes(
                    {f"n{each}": {"vcore": 1} for each in range(chance.randrange(500))}
                )
                time.sleep(chance.uniform(0, FLUSH_SECONDS))
                assert served.end(SIGKILL)[0] == -SIGKILL
        found = compared(directory)
        assert found[-1].result is not None
        assert found[-1].result.torn
    return len(found)


@pytest.mark.remuda_rule("EXT-51", "EXT-54")
def test_a_killed_process_leaves_a_journal_that_repeats(tmp_path: Path) -> None:
    assert killed(tmp_path, 2, 60) == 2
    done = run_remuda("replay", str(tmp_path))
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert len(lines) == 2
    assert all(", all effects the same; torn " in line for line in lines)


@pytest.mark.long
@pytest.mark.remuda_rule("EXT-50", "EXT-51", "EXT-54")
def test_a_process_that_is_killed_many_times_leaves_a_journal_that_repeats(tmp_path: Path) -> None:
    # A journal of one MiB keeps some 30 of these segments.
    assert killed(tmp_path, 200, 60) >= 20


@pytest.mark.remuda_rule("EXT-50", "EXT-52", "MET-61")
def test_a_journal_of_a_service_has_segments_that_repeat(tmp_path: Path) -> None:
    with Served(*FREE_PORTS, "--journal", str(tmp_path), *SMALL) as served:
        work(served, "rm", 1_000)
        wait(lambda: metrics(served)["segments"] >= 2)
        found = metrics(served)
        assert found["bytes"] > 256 * 1024
        assert (found["broken"], found["lost_inputs_total"], found["states_failed_total"]) == (
            (0, 0, 0)
        )
        assert served.end(SIGTERM)[0] == 0
    found_files = compared(tmp_path)
    assert len(found_files) >= 2
    inputs = sum(each.result.inputs for each in found_files if each.result)
    assert inputs > 50
    assert all(each.result is not None and not each.result.torn for each in found_files)


@pytest.mark.remuda_rule("EXT-53", "MET-61", "HLT-20")
def test_a_journal_on_a_full_disk_goes_on_by_itself_when_there_is_room(tmp_path: Path) -> None:
    with Served(*FREE_PORTS, "--journal", str(tmp_path)) as served:
        work(served, "first", 5)
        wait(lambda: served.client.get(f"{HEALTH}?strict=true").status_code == 200)
        wait(lambda: written(tmp_path, b'"k4"'))
        size = listed(tmp_path)[0].inputs.stat().st_size
        _, hard = resource.prlimit(served.process.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(served.process.pid, resource.RLIMIT_FSIZE, (size + 100, hard))
        work(served, "second", 5)
        wait(lambda: served.client.get(f"{HEALTH}?strict=true").status_code == 503)
        last = served.client.get(HEALTH).json()["HealthChecks"][-1]
        assert (last["Name"], last["Succeeded"]) == ("Journal", False)
        assert last["DiagnosisMessage"] == (
            f"writing the journal in {tmp_path} failed: File too large; "
            "it goes on by itself when there is room"
        )
        work(served, "third", 5)
        before = metrics(served)
        assert before["broken"] == 1
        assert before["lost_inputs_total"] > 5
        resource.prlimit(served.process.pid, resource.RLIMIT_FSIZE, (hard, hard))
        number = 0

        def mended() -> bool:
            nonlocal number
            number += 1
            work(served, f"again-{number}", 1)
            return metrics(served)["broken"] == 0

        wait(mended)
        work(served, "last", 5)
        wait(lambda: served.client.get(f"{HEALTH}?strict=true").status_code == 200)
        code, _, errors = served.end(SIGTERM)
    assert code == 0
    assert "failed: File too large; the scheduler goes on without it" in errors
    assert "the journal goes on with" in errors
    torn, whole = compared(tmp_path)
    assert torn.result is not None
    assert torn.result.torn
    assert whole.result is not None
    assert not whole.result.torn
    assert whole.first > torn.first + torn.result.inputs


@pytest.mark.remuda_rule("EXT-50")
def test_options_that_make_no_sense_end_with_two_and_one_line(tmp_path: Path) -> None:
    here = ("--journal", str(tmp_path))
    for options, said in (
        ((*here, "--record", str(tmp_path / "r")), "--journal and --record exclude each other"),
        (("--journal", str(tmp_path / "missing")), "is no directory; make it first"),
        ((*here, "--journal-age", "soon"), "--journal-age: 'soon' is not a duration above 0"),
        ((*here, "--journal-size", "0"), "--journal-size"),
    ):
        done = run_remuda("serve", *FREE_PORTS, *options)
        assert (done.returncode, done.stdout) == (2, "")
        assert len(done.stderr.splitlines()) == 1
        assert said in done.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.remuda_rule("EXT-54")
def test_a_replay_of_a_journal_names_the_first_input_that_differs(tmp_path: Path) -> None:
    with Served(*FREE_PORTS, "--journal", str(tmp_path)) as served:
        work(served, "rm", 5)
        assert served.end(SIGTERM)[0] == 0
    (segment,) = listed(tmp_path)
    content = segment.inputs.read_bytes()
    segment.inputs.write_bytes(content.replace(b'"node_id":"n1"', b'"node_id":"n2"', 1))
    done = run_remuda("replay", str(tmp_path))
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.startswith(f"{segment.inputs}: different at input 2 (UpdateNodes): its ")
    empty = tmp_path / "empty"
    empty.mkdir()
    done = run_remuda("replay", str(empty))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.endswith("no journal of remuda, there is no segment in it\n")
