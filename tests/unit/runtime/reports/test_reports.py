"""Reports of snapshots and journals: what they tell, and that pseudonyms give no name away."""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from remuda.base.errors import UsageError
from remuda.config.load import load_configuration
from remuda.core.messages import commands
from remuda.core.messages.ask import Ask
from remuda.core.messages.tags import REQUIRED_NODE
from remuda.core.scheduler import Scheduler
from remuda.runtime import snapshots
from remuda.runtime.journals.layout import JournalBounds, listed
from remuda.runtime.journals.writer import Journal
from remuda.runtime.loop import SchedulerLoop
from remuda.runtime.reports.names import ASK, QUEUE, USER, Names, OwnNames, Pseudonyms
from remuda.runtime.reports.report import build_report
from remuda.runtime.reports.sources import ReplayBounds
from remuda.runtime.reports.text import report_text
from remuda.runtime.reports.violations import place_of, violations
from tests.unit.runtime.journals.written import journal_of
from tests.unit.runtime.reports import named


def silent(_: int) -> None:
    """Hear about no progress."""


BOUNDS = ReplayBounds(600.0, silent)


def report_of(*paths: Path, names: Names | None = None) -> dict[str, Any]:
    return build_report(paths, names or OwnNames(), BOUNDS)


def written(folder: Path, scheduler: Scheduler) -> Path:
    """A snapshot, in a folder whose name is secret, too."""
    path = folder / "zqx-state.snapshot"
    snapshots.write(path, scheduler, named.START + 5 * 10**9)
    return path


def recorded(folder: Path) -> Path:
    """A journal with all hostile names."""
    directory = folder / "zqx-journal"
    directory.mkdir()
    loop = SchedulerLoop(recorder=Journal(directory, JournalBounds()))
    loop.start()
    assert loop.register(named.registration()).result(30).reason == ""
    for command in named.requests():
        loop.submit(command)
    loop.idle().result(30)
    loop.stop()
    return directory


def forms(report: dict[str, Any]) -> Iterator[str]:
    """The report as it is printed, in both forms, lower case and without escapes."""
    yield report_text(report).lower()
    yield json.dumps(report).lower()
    yield json.dumps(report, ensure_ascii=False).lower()


def told(report: dict[str, Any], kind: str) -> Any:
    return report["files"][0][kind]


# ------------------------------------------------------------------------------ what is told


@pytest.mark.remuda_rule("EXT-145")
def test_a_sound_snapshot_is_told_in_figures(tmp_path: Path) -> None:
    report = report_of(written(tmp_path, named.worked()))
    assert report["sound"]
    assert report["files"][0]["kind"] == "snapshot"
    (partition,) = told(report, "partitions")
    assert partition["rm"] == named.RM
    # The user with 3 cores has all of them, and the leaf with a maximum of one core is full.
    assert (partition["nodes"], partition["queues"], partition["leaves"]) == (1, 5, 2)
    assert partition["allocations"] == 4
    assert partition["waiting asks"] == 4
    assert partition["allocated"] == {"vcore": 4_000, named.CHIP: 1}
    assert told(report, "violations") == []


@pytest.mark.remuda_rule("EXT-145")
def test_what_waits_is_told_with_its_reason(tmp_path: Path) -> None:
    report = report_of(written(tmp_path, named.worked()))
    reasons = {each["application"]: each["reason"] for each in told(report, "waiting")}
    assert reasons == {
        named.APPLICATION: f"user quota: user {named.USER} at root",
        f"{named.APPLICATION} 2": f"queue quota: {named.LEAF}",
        "zqx-fourth": "required node: zqx-absent",
    }
    assert [each["seconds"] for each in told(report, "waiting")] == [4, 4, 4]


@pytest.mark.remuda_rule("EXT-145")
def test_why_the_asks_of_an_application_wait_is_counted(tmp_path: Path) -> None:
    scheduler = named.worked()
    now_ns = named.START + 10**10
    asks = [
        Ask("zqx-fourth", f"zqx-{node}-{number}", {"vcore": 1}, tags={REQUIRED_NODE: f"zqx-{node}"})
        for node in range(6)
        for number in range(node + 1)
    ]
    scheduler.handle(commands.UpdateAllocations(named.RM, asks=tuple(asks)), now_ns)
    while scheduler.has_work():
        scheduler.step(now_ns, 1_000)
    path = written(tmp_path, scheduler)
    report = report_of(path)
    reasons = {each["application"]: each["reasons"] for each in told(report, "waiting")}
    assert [(each["reason"], each["asks"]) for each in reasons["zqx-fourth"]] == [
        *[(f"required node: zqx-{node}", node + 1) for node in (5, 4, 3, 2, 1)],
        ("other reasons", 2),
    ]
    assert [each["asks"] for each in reasons[named.APPLICATION]] == [2]
    assert "    of its asks: 6 required node: zqx-5; 5 required node: zqx-4;" in report_text(report)
    hidden = json.dumps(report_of(path, names=Pseudonyms()))
    assert '"other reasons", "asks": 2' in hidden
    assert named.MARK not in hidden.lower()


@pytest.mark.remuda_rule("EXT-145")
def test_every_violation_is_told_with_its_object_and_the_check_with_its_place(
    tmp_path: Path,
) -> None:
    scheduler = named.worked()
    named.break_amounts(scheduler)
    report = report_of(written(tmp_path, scheduler))
    assert not report["sound"]
    found = told(report, "violations")
    objects = {each["object"].partition(" ")[0] for each in found}
    assert {"node", "application", "queue", "user", "the"} <= objects
    assert found[-1]["value"] == "invariant"
    assert found[-1]["at"].startswith("core/invariants/")
    assert "Result: something is wrong" in report_text(report)


@pytest.mark.remuda_rule("EXT-145", "EXT-146")
@pytest.mark.parametrize("names", [OwnNames(), Pseudonyms()])
def test_a_state_too_wrong_to_list_its_partitions_is_told(names: Names) -> None:
    scheduler = named.worked()
    (partition,) = scheduler._partitions
    partition.pool.capacity.amounts.clear()
    first, *_ = violations(scheduler, names)
    assert (first["object"], first["value"]) == ("the whole state", "partitions")
    assert first["text"].startswith("the audit of it failed: IndexError")
    assert first["at"].startswith("core/")


@pytest.mark.remuda_rule("EXT-145")
def test_the_configuration_in_a_report_is_a_queue_file(tmp_path: Path) -> None:
    report = report_of(written(tmp_path, named.worked()))
    (outline,) = told(report, "configurations")
    text = yaml.safe_dump({"partitions": outline["partitions"]})
    assert load_configuration(text).partitions == load_configuration(named.QUEUES).partitions
    assert outline["settings"] == ["log.level", "zqx.setting"]


@pytest.mark.remuda_rule("EXT-145")
def test_what_is_allowed_and_odd_is_told(tmp_path: Path) -> None:
    scheduler = named.worked()
    drained = commands.NodeUpdate(named.NODE, commands.DRAIN_NODE)
    scheduler.handle(commands.UpdateNodes(named.RM, (drained,)), named.START + 2 * 10**9)
    (text,) = told(report_of(written(tmp_path, scheduler)), "odd")
    assert text == f"node {named.NODE} takes no new work and has 4 allocations"


# -------------------------------------------------------------------------------- pseudonyms


@pytest.mark.remuda_rule("EXT-146")
@pytest.mark.parametrize("broken", [False, True])
def test_no_name_of_the_input_is_in_a_report_with_pseudonyms(
    tmp_path: Path, *, broken: bool
) -> None:
    scheduler = named.worked()
    if broken:
        named.break_amounts(scheduler)
    files = [written(tmp_path, scheduler), recorded(tmp_path)]
    for form in forms(report_of(*files)):
        assert form.count(named.MARK) > 20
    for form in forms(report_of(*files, names=Pseudonyms())):
        assert named.MARK not in form
        assert "alice" not in form
        assert "salaries" not in form
        assert "acme" not in form


@pytest.mark.remuda_rule("EXT-146")
def test_words_about_a_differing_input_are_left_out_with_pseudonyms(tmp_path: Path) -> None:
    directory = recorded(tmp_path)
    (segment,) = listed(directory)
    text = segment.inputs.read_bytes().replace(b'"vcore":8000', b'"vcore":2000')
    segment.inputs.write_bytes(text)
    replay = told(report_of(directory, names=Pseudonyms()), "replay")
    assert not replay["same"]
    assert replay["differs at"] > 0
    assert replay["difference"] == told(report_of(directory), "replay")["difference"]
    segment.inputs.write_bytes(text[:2_000] + b"zqx" + text[2_003:])
    damaged = report_of(directory, names=Pseudonyms())
    assert told(damaged, "replay")["damaged"].startswith("line ")
    assert all(named.MARK not in form for form in forms(damaged))
    assert not damaged["sound"]


@pytest.mark.remuda_rule("EXT-146")
def test_one_name_has_one_pseudonym_in_all_files_and_another_one_in_the_next_report(
    tmp_path: Path,
) -> None:
    files = [written(tmp_path, named.worked()), recorded(tmp_path)]
    report = report_of(*files, names=Pseudonyms())
    one, other = [each["partitions"][0]["rm"] for each in report["files"]]
    assert one == other
    draws = [Pseudonyms().of(USER, named.USER) for _ in range(20)]
    assert len(set(draws)) > 1


@pytest.mark.remuda_rule("EXT-146")
def test_pseudonyms_keep_the_structure_and_what_everybody_has() -> None:
    names = Pseudonyms(lambda _: 6)
    assert names.of(QUEUE, "root.a.b") == "root.queue-7.queue-8"
    assert names.of(QUEUE, "root.b") == "root.queue-8"
    assert names.of(USER, "a") == "user-7"
    assert names.of(QUEUE, "root") == "root"
    assert names.of(QUEUE, "root.@recovery@.a") == "root.@recovery@.queue-7"
    assert names.of(ASK, "") == ""
    assert names.of("resource", "vcore") == "vcore"
    assert names.of("resource", "acme") == "resource-9"
    assert names.of("partition", "default") == "default"
    assert names.of(USER, "default") == "user-10"


@pytest.mark.remuda_rule("EXT-146")
def test_thousands_of_names_have_different_pseudonyms() -> None:
    names = Pseudonyms()
    assert len({names.of(USER, f"user {number}") for number in range(5_000)}) == 5_000


@pytest.mark.remuda_rule("EXT-146")
def test_a_configuration_with_pseudonyms_can_be_loaded(tmp_path: Path) -> None:
    report = report_of(written(tmp_path, named.worked()), names=Pseudonyms())
    (outline,) = told(report, "configurations")
    (partition,) = load_configuration(
        yaml.safe_dump({"partitions": outline["partitions"]})
    ).partitions
    top, made = partition.root.queues
    assert [len(each.queues) for each in (top, made)] == [2, 0]
    assert top.queues[0].maximum is not None
    assert sorted(top.queues[0].maximum.values()) == [8, 1_000]
    assert partition.placement_rules[1].value == f"root.{top.name}.{top.queues[0].name}"


# ------------------------------------------------------------------------------------ journals


@pytest.mark.remuda_rule("EXT-147")
def test_the_last_segment_of_a_journal_is_repeated_from_its_state(tmp_path: Path) -> None:
    files = journal_of(tmp_path)
    last = files[-1]
    report = report_of(tmp_path)
    replay = told(report, "replay")
    assert len(files) > 2
    assert replay["first input"] == last.first
    assert replay["same"]
    assert replay["compared"] == replay["last input"] - last.first + 1
    assert report["sound"]
    assert report["whole"]
    assert told(report, "segments") == len(files)
    assert last.state is not None
    last.state.unlink()
    assert told(report_of(tmp_path), "replay")["first input"] == files[-2].first


@pytest.mark.remuda_rule("EXT-147")
def test_a_segment_a_state_and_a_recording_can_be_named_alone(tmp_path: Path) -> None:
    files = journal_of(tmp_path)
    one = files[1]
    assert one.state is not None
    report = report_of(one.inputs, one.state)
    segment, state = report["files"]
    assert segment["kind"] == "segment of a journal"
    assert segment["replay"]["last input"] == files[2].first - 1
    assert state["kind"] == "state of a journal"
    assert "replay" not in state
    recording = tmp_path / "copy.jsonl"
    recording.write_bytes(files[0].inputs.read_bytes())
    (told_of,) = report_of(recording)["files"]
    assert told_of["kind"] == "recording"
    assert told_of["replay"]["last input"] == one.first - 1


@pytest.mark.remuda_rule("EXT-147")
def test_a_torn_end_is_told_and_is_no_fault(tmp_path: Path) -> None:
    files = journal_of(tmp_path)
    content = files[-1].inputs.read_bytes()
    files[-1].inputs.write_bytes(content[: len(content) // 2])
    report = report_of(tmp_path)
    assert told(report, "replay")["torn"].startswith(("after line", "in the middle of line"))
    assert told(report, "replay")["compared"] > 0
    assert report["sound"]
    files[-1].inputs.write_bytes(content[:20])
    report = report_of(tmp_path)
    assert told(report, "cut off") == "the last segment has no whole first line"
    assert told(report, "replay")["last input"] == files[-1].first - 1


@pytest.mark.remuda_rule("EXT-147")
def test_lost_lines_are_told_and_the_inputs_before_them_count(tmp_path: Path) -> None:
    last = journal_of(tmp_path)[-1]
    lines = last.inputs.read_bytes().splitlines(keepends=True)
    del lines[8]
    last.inputs.write_bytes(b"".join(lines))
    report = report_of(tmp_path)
    assert "lines were lost, added or moved" in told(report, "replay")["damaged"]
    assert told(report, "replay")["compared"] > 0
    assert not report["sound"]


@pytest.mark.remuda_rule("EXT-147")
def test_inputs_are_repeated_for_as_long_as_was_said(tmp_path: Path) -> None:
    journal_of(tmp_path, bounds=JournalBounds())
    seconds = iter(range(100))
    heard: list[int] = []
    bounds = ReplayBounds(2.0, heard.append, lambda: float(next(seconds)))
    report = build_report([tmp_path], OwnNames(), bounds)
    replay = told(report, "replay")
    assert replay["compared"] == 64
    assert heard == [1, 65]
    assert not replay["whole"]
    assert report["sound"]
    assert "in the part that was read" in report_text(report)


@pytest.mark.remuda_rule("EXT-147")
def test_what_is_no_snapshot_and_no_journal_is_refused_in_one_line(tmp_path: Path) -> None:

    (tmp_path / "text").write_text("hello\n")
    (tmp_path / "empty").touch()
    (tmp_path / "old.jsonl").write_text('["remuda-recording",1,null]\n')
    (tmp_path / "folder").mkdir()
    whole = written(tmp_path, named.worked()).read_bytes()
    (tmp_path / "torn.snapshot").write_bytes(whole[:-9])
    (tmp_path / "other.snapshot").write_bytes(whole.replace(b"digest", b"digits"))
    for name, why in (
        ("text", "neither a snapshot nor a journal nor a recording"),
        ("empty", "neither a snapshot nor a journal nor a recording"),
        ("none", "cannot read"),
        ("folder", "there is no segment in it"),
        ("old.jsonl", "this version reads formats"),
        ("torn.snapshot", "the snapshot is damaged"),
        ("other.snapshot", "the snapshot is damaged"),
    ):
        with pytest.raises(UsageError, match=why) as caught:
            report_of(tmp_path / name)
        assert "\n" not in str(caught.value)


@pytest.mark.remuda_rule("EXT-147")
@pytest.mark.parametrize(
    "rest, why",
    [
        (b"", "it has no end"),
        (zlib.compress(b"x" * 100)[:-5], "it has no end"),
        (b"xx", "it cannot be unpacked"),
        (zlib.compress(b"not a state"), "this is no snapshot of Remuda"),
    ],
)
def test_a_state_that_is_no_state_is_refused_however_long_it_is(
    tmp_path: Path, rest: bytes, why: str
) -> None:
    path = tmp_path / "x.state"
    path.write_bytes(b"remuda-state 1\n" + rest)
    with pytest.raises(UsageError, match=why):
        report_of(path)
    if rest == b"xx":
        os.truncate(path, 1 << 40)  # more than any memory; the file has a hole
        with pytest.raises(UsageError, match=why):
            report_of(path)


@pytest.mark.remuda_rule("EXT-146")
@pytest.mark.parametrize(
    "file, place",
    [
        ("/home/zqx/remuda/core/model/x.py", "core/model/x.py:1 (<module>)"),
        ("remuda/core/model/x.py", "core/model/x.py:1 (<module>)"),
        ("/home/zqx/remuda/venv/x.py", ""),
        ("/home/zqx/remuda-zqx/x.py", ""),
        ("/remuda/core/ZQX/x.py", ""),
    ],
)
def test_the_place_of_a_fault_names_no_folder_of_the_machine(file: str, place: str) -> None:
    with pytest.raises(ZeroDivisionError) as caught:
        exec(compile("1 / 0", file, "exec"))
    assert place_of(caught.value) == place
