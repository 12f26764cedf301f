"""The fingerprints of what inputs led to."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import msgspec
import pytest

from remuda.base.errors import UsageError
from remuda.config.schema import built_in
from remuda.core.messages import commands, events
from remuda.core.messages.ask import Ask
from remuda.core.messages.effects import AllocationNew, ApplicationUpdated, Effect, EventRecord
from remuda.runtime.digest import ALL_EVERY, EffectDigest, InputDigest
from remuda.runtime.journal import JournalWriter, OutcomeLine, StepLine
from remuda.runtime.loop import SchedulerLoop
from remuda.runtime.recorded import command_of, segments
from remuda.runtime.replay import Repeater, replay

UPDATED: Final = ApplicationUpdated("rm", "app", "Running", 1, "runApplication")


def event(message: str) -> EventRecord:
    return EventRecord(
        "rm", "default", events.APP, "app", "", events.NONE, events.DETAILS_NONE, 1, None, message
    )


def placed(node: str, **tags: str) -> AllocationNew:
    return AllocationNew("rm", "default", "key-0", node, Ask("app", "key", {"vcore": 1}, tags=tags))


def after(*inputs: tuple[int, list[Effect]]) -> str:
    digest = InputDigest()
    for number, effects in inputs:
        digest.add(number, effects)
    return digest.hexdigest()


@pytest.mark.remuda_rule("EXT-185")
def test_a_decision_counts_at_every_input() -> None:
    one = after((1, [placed("n1")]))
    assert one == after((1, [placed("n1")]))
    assert one != after((1, [placed("n2")]))
    assert one != after((1, [placed("n1"), placed("n1")]))
    assert one != after((1, [placed("n1"), UPDATED]))
    assert after((1, [UPDATED, placed("n1")])) != after((1, [placed("n1"), UPDATED]))


@pytest.mark.remuda_rule("EXT-185")
def test_an_event_record_counts_in_full_at_one_input_in_31() -> None:
    assert ALL_EVERY == 31
    assert after((30, [event("a")])) == after((30, [event("b")]))
    assert after((31, [event("a")])) != after((31, [event("b")]))
    assert after((30, [placed("n1", a="b")])) == after((30, [placed("n1", a="c")]))
    assert after((31, [placed("n1", a="b")])) != after((31, [placed("n1", a="c")]))


@pytest.mark.remuda_rule("EXT-185")
def test_an_input_without_decisions_has_an_empty_fingerprint() -> None:
    digest = InputDigest()
    assert digest.add(1, [UPDATED]) == digest.hexdigest() != ""
    assert digest.add(2, [event("a")]) == ""
    assert digest.add(3, []) == ""


@pytest.mark.remuda_rule("EXT-185")
def test_the_number_of_effects_is_compared_at_every_input(tmp_path: Path) -> None:
    path = recorded(tmp_path)
    one_more = re.sub(rb'"outcome","",0', b'"outcome","",1', path.read_bytes(), count=1)
    path.write_bytes(one_more)
    assert "its 0 effects differ from the recorded ones" in replay(path).difference


def test_a_recording_of_an_older_format_is_compared_with_all_effects(tmp_path: Path) -> None:
    path = recorded(tmp_path)
    assert replay(path).same
    path.write_bytes(as_format_7(path))
    assert replay(path).same
    path.write_bytes(path.read_bytes().replace(b'"vcore":9', b'"vcore":8'))
    assert "effects differ from the recorded ones" in replay(path).difference
    path.write_bytes(path.read_bytes().replace(b'recording",7', b'recording",9'))
    with pytest.raises(UsageError, match="a recording of format 9; this version reads formats 5, "):
        replay(path)


def recorded(tmp_path: Path) -> Path:
    """Return a recording of a registration and a node."""
    path = tmp_path / "run.jsonl"
    loop = SchedulerLoop(recorder=JournalWriter(path))
    loop.start()
    loop.register(commands.RegisterResourceManager("rm", built_in())).result(60)
    node = commands.NodeUpdate("n1", commands.CREATE, {"vcore": 9})
    loop.submit(commands.UpdateNodes("rm", (node,)))
    loop.submit(commands.UpdateAllocations("rm"))
    loop.idle().result(60)
    loop.stop()
    return path


def as_format_7(path: Path) -> bytes:
    """Return a recording as the version before wrote it: with digests over all effects."""
    segment = next(segments(path))
    scheduler = Repeater(segment).scheduler
    digest = EffectDigest()
    outcomes: list[bytes] = []
    for entry in segment.inputs():
        cause = entry.cause
        if isinstance(cause, StepLine):
            effects = scheduler.step(cause.now_ns, cause.limit, timers=cause.timers)
        else:
            effects = scheduler.handle(command_of(cause), cause.now_ns)
        outcomes.append(msgspec.json.encode(OutcomeLine(digest.add(cause.number, effects))) + b"\n")
    header, *lines = path.read_bytes().splitlines(keepends=True)
    written = [outcomes.pop(0) if each[:10] == b'["outcome"' else each for each in lines]
    return b"".join([header.replace(b'recording",8', b'recording",7'), *written])
