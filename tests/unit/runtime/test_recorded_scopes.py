"""Recordings have the scopes of applications and nodes, and older ones can be repeated (EXT-33)."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from remuda.base.scopes import Scope
from remuda.config.schema import built_in
from remuda.core.messages import commands
from remuda.runtime.journal import JournalWriter
from remuda.runtime.loop import SchedulerLoop
from remuda.runtime.replay import replay
from remuda.runtime.requests import limited
from tests.unit.runtime.test_journal import inputs, record


@pytest.mark.remuda_rule("EXT-33")
def test_a_recording_from_before_scopes_repeats_to_the_same_effects(tmp_path: Path) -> None:
    recording = tmp_path / "r"
    record(recording, predicates=False)
    before = replay(recording)
    text = recording.read_bytes()
    assert text.count(b',"within":null') == 4 + 2
    recording.write_bytes(text.replace(b',"within":null', b""))
    assert replay(recording) == before


@pytest.mark.remuda_rule("EXT-33")
def test_a_recording_has_the_scopes_of_applications_and_nodes(tmp_path: Path) -> None:
    path = tmp_path / "r"
    loop = SchedulerLoop(recorder=JournalWriter(path))
    loop.start()
    assert loop.register(commands.RegisterResourceManager("rm", built_in())).result(60).reason == ""
    nowhere = Scope(("other",), ("root.a",))
    for request in inputs()[:2]:
        loop.submit(limited(request, nowhere))
    loop.idle().result(60)
    loop.stop()
    assert path.read_bytes().count(b'"within":{"partitions":["other"],"queues":["root.a"]}') == 6
    assert replay(path).same
    # Without it the same inputs have other effects.
    path.write_bytes(re.sub(rb'"within":{[^}]*}', b'"within":null', path.read_bytes()))
    assert not replay(path).same
