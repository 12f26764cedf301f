"""A recording can be repeated, also after a crash, and a difference is found and named."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Final

import msgspec
import pytest

from remuda.base.errors import UsageError
from remuda.config.load import load_configuration
from remuda.config.process_limits import DEFAULT_LIMITS, NO_LIMITS, Limits
from remuda.config.schema import built_in
from remuda.core.messages import commands
from remuda.core.messages.commands import Ask, Command
from remuda.core.messages.effects import AllocationNew, Effect
from remuda.core.messages.queries import PartitionsQuery, PartitionView
from remuda.core.messages.rows import rows
from remuda.core.ports import NodesAnswer, NodesQuestion, Predicates, PreemptionPredicates
from remuda.core.scheduler import Scheduler
from remuda.runtime.digest import EffectDigest
from remuda.runtime.errors import RecordingError
from remuda.runtime.journal import JournalWriter
from remuda.runtime.loop import SchedulerLoop
from remuda.runtime.replay import replay
from tests.port import one_by_one
from tests.unit.runtime.fakes import Factory, FakeScheduler, Sink

GIB = 2**30


def odd_keys_only(rm_id: str, allocation_key: str, node_id: str, allocate: bool) -> str:
    return "" if int(allocation_key.removeprefix("k")) % 2 else "even"


def inputs() -> list[
    commands.UpdateNodes | commands.UpdateApplications | commands.UpdateAllocations
]:
    nodes = tuple(
        commands.NodeUpdate(f"n{n}", commands.CREATE, {"vcore": 4_000, "memory": 8 * GIB})
        for n in range(4)
    )
    applications = tuple(
        commands.NewApplication(f"a{n}", user="u", groups=("g",), tags={"namespace": f"q{n}"})
        for n in range(2)
    )
    asks = tuple(
        Ask(f"a{n % 2}", f"k{n}", {"vcore": 500, "memory": GIB}, priority=n % 3) for n in range(20)
    )
    release = commands.AllocationRelease("a1", allocation_key="k1")
    return [
        commands.UpdateNodes("rm", nodes),
        commands.UpdateApplications("rm", applications),
        commands.UpdateAllocations("rm", asks=asks),
        commands.UpdateAllocations("rm", releases=(release,)),
        commands.UpdateApplications("rm", remove=(commands.ApplicationRemoval("a0"),)),
    ]


def record(path: Path, *, predicates: bool) -> None:
    """Let a loop with the real core write a recording."""
    loop = SchedulerLoop(recorder=JournalWriter(path))
    loop.start()
    registration = commands.RegisterResourceManager("rm", built_in(), predicates=predicates)
    assert loop.register(registration, None, one_by_one(odd_keys_only)).result(60).reason == ""
    for request in inputs():
        loop.submit(request)
        loop.idle().result(60)
    loop.stop()


@pytest.fixture(params=[False, True], ids=["plain", "predicates"])
def recording(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    path = tmp_path / "run.jsonl"
    record(path, predicates=request.param)
    return path


def lines(path: Path) -> list[bytes]:
    return path.read_bytes().splitlines(keepends=True)


# What follows an input after which the digest is the one before.
QUIET: Final = b'["outcome","",0]\n'


def test_a_recording_repeats_to_the_same_effects(recording: Path) -> None:
    result = replay(recording)
    assert result.same
    assert not result.unfinished
    outcomes = [line for line in lines(recording) if line.startswith(b'["outcome"')]
    assert result.inputs == len(outcomes) >= 1 + len(inputs())
    assert result.digest.encode() in [each for each in outcomes if b'"",' not in each][-1]


def test_a_recording_holds_the_answers_of_predicates(tmp_path: Path) -> None:
    record(tmp_path / "r", predicates=True)
    written = [line for line in lines(tmp_path / "r") if line.startswith(b'["answer"')]
    answers = [msgspec.json.decode(line)[1:] for line in written]
    asked, answer = next(each for each in answers if each[0]["allocation_key"] == "k2")
    assert (asked["rm_id"], asked["application_id"], asked["allocate"]) == ("rm", "a0", True)
    assert (answer["passed"], answer["ticket"]) == (-1, 0)
    assert answer["refusals"] == ["even"] * len(asked["node_ids"])
    odd = [answer for asked, answer in answers if asked["allocation_key"] == "k3"]
    assert odd == [{"passed": 0, "refusals": [], "ticket": 0, "asked": 0}]


@pytest.mark.remuda_rule("EXT-22")
def test_a_recording_holds_questions_about_many_nodes_and_their_answers(tmp_path: Path) -> None:
    path = tmp_path / "r"
    loop = SchedulerLoop(Asking, recorder=JournalWriter(path))
    loop.start()
    refusals = ("too old", "too new")
    registration = commands.RegisterResourceManager("rm", built_in(), predicates=True)
    loop.register(registration, None, lambda question: NodesAnswer(2, refusals)).result(60)
    loop.submit(commands.UpdateAllocations("rm", asks=(Ask("a", "k", {"vcore": 1}),)))
    loop.barrier().result(60)
    loop.stop()
    (line,) = [line for line in lines(path) if line.startswith(b'["answer"')]
    (_, question, answer) = msgspec.json.decode(line)
    assert question["node_ids"] == list(NINE)
    assert (answer["passed"], answer["refusals"]) == (2, list(refusals))
    assert replay(path, Asking).same
    path.write_bytes(path.read_bytes().replace(b'"n7"', b'"n6"'))
    assert replay(path, Asking).difference == (
        "input 2 (UpdateAllocations): predicates were asked about 'k' of 'a' ('rm') to run on "
        "n0, n1, n2, n3, n4, n5, n6, n7 and 1 more, recorded is 'k' of 'a' ('rm') to run on "
        "n0, n1, n2, n3, n4, n5, n6, n6 and 1 more"
    )


NINE = tuple(f"n{number}" for number in range(9))


class Asking(FakeScheduler):
    """Asks about nine nodes for each ask; the node that passes shows in the effects."""

    def handle(self, command: Command, now_ns: int) -> list[Effect]:
        if not isinstance(command, commands.UpdateAllocations):
            return super().handle(command, now_ns)
        effects: list[Effect] = []
        for ask in command.asks:
            key = ask.allocation_key
            question = NodesQuestion(command.rm_id, ask.application_id, key, True, NINE)
            chosen = NINE[self.predicates(question).passed]
            effects.append(AllocationNew(command.rm_id, "default", f"{key}-0", chosen, ask))
        return effects


@pytest.mark.remuda_rule("RSV-3")
@pytest.mark.parametrize("delay_ns", [None, 1, 5_000_000_000])
def test_a_replay_has_the_reservation_delay_of_the_recording(
    tmp_path: Path, delay_ns: int | None
) -> None:
    factory = Factory()
    loop = SchedulerLoop(
        factory, recorder=JournalWriter(tmp_path / "r"), reservation_delay_ns=delay_ns
    )
    loop.stop()
    assert factory.scheduler.reservation_delay_ns == delay_ns
    again = Factory()
    assert replay(tmp_path / "r", again).same
    assert again.scheduler.reservation_delay_ns == delay_ns


@pytest.mark.remuda_rule("SI-14")
def test_a_replay_has_the_limits_of_the_recording(tmp_path: Path) -> None:
    path = tmp_path / "r"
    limits = {**DEFAULT_LIMITS, "nodes": 7}
    factory = Factory()
    loop = SchedulerLoop(factory, recorder=JournalWriter(path), limits=limits)
    loop.stop()
    assert factory.scheduler.kept == limits
    again = Factory()
    assert replay(path, again).same
    assert again.scheduler.kept == limits
    # What a recording does not name did not exist when it was made.
    for written, expected in ((b'{"nodes":7}', {**NO_LIMITS, "nodes": 7}), (b"", NO_LIMITS)):
        first, *rest = lines(path)
        start = first[: first.index(b"{")] if b"{" in first else first
        path.write_bytes((start + written).rstrip(b",") + b"]\n" + b"".join(rest))
        assert replay(path, again).same
        assert again.scheduler.kept == expected


@pytest.mark.remuda_rule("SI-14")
def test_refusals_by_a_limit_are_repeated(tmp_path: Path) -> None:
    path = tmp_path / "r"
    loop = SchedulerLoop(recorder=JournalWriter(path), limits={**DEFAULT_LIMITS, "nodes": 1})
    loop.start()
    loop.register(commands.RegisterResourceManager("rm", built_in()), Sink()).result(60)
    nodes = tuple(commands.NodeUpdate(n, commands.CREATE, {"vcore": 4}) for n in ("n1", "n2"))
    loop.submit(commands.UpdateNodes("rm", nodes))
    loop.idle().result(60)
    loop.stop()
    assert replay(path).same
    path.write_bytes(path.read_bytes().replace(b'"nodes":1,', b'"nodes":2,', 1))
    assert "effects differ from the recorded ones" in replay(path).difference


class SetClock:
    """Time that stands still until it is set."""

    def __init__(self) -> None:
        self.ns = 1_700_000_000 * 10**9

    def now_ns(self) -> int:
        return self.ns

    def wall_ns(self) -> int:
        return self.now_ns()


@pytest.mark.remuda_rule("RSV-3")
def test_reservations_are_repeated_and_a_replay_without_their_delay_differs(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    clock = SetClock()
    loop = SchedulerLoop(
        recorder=JournalWriter(path), clock=clock, reservation_delay_ns=5_000_000_000
    )
    sink = Sink()
    loop.start()
    loop.register(commands.RegisterResourceManager("rm", built_in()), sink).result(60)
    nodes = tuple(commands.NodeUpdate(n, commands.CREATE, {"vcore": 4}) for n in ("n1", "n2"))
    loop.submit(commands.UpdateNodes("rm", nodes))
    loop.submit(inputs()[1])
    small = tuple(Ask("a0", f"k{number}", {"vcore": 2}) for number in range(2))
    for asks in (small, (Ask("a1", "big", {"vcore": 4}),)):
        loop.submit(commands.UpdateAllocations("rm", asks=asks))
        loop.idle().result(60)
    for seconds in (5, 1):
        assert reservations(loop) == 0
        clock.ns += seconds * 10**9
        loop.idle().result(60)
    assert reservations(loop) == 1
    loop.stop()
    assert replay(path).same
    header = lines(path)[0]
    assert header.startswith(b'["remuda-recording",8,5000000000,{')
    path.write_bytes(path.read_bytes().replace(header, b'["remuda-recording",8,null]\n'))
    assert "effects differ from the recorded ones" in replay(path).difference


def reservations(loop: SchedulerLoop) -> int:
    """How many reservations there are, once the loop has come to rest."""
    (view,) = rows(PartitionView, loop.query(PartitionsQuery()).result(60))
    return view.reservations


def test_a_recording_is_for_its_owner_only(recording: Path) -> None:
    assert stat.S_IMODE(recording.stat().st_mode) == 0o600


def test_every_cut_through_the_file_leaves_something_that_can_be_repeated(
    recording: Path,
) -> None:
    whole = recording.read_bytes()
    complete = replay(recording).inputs
    for part in range(1, 40):
        recording.write_bytes(whole[: len(lines(recording)[0]) + part * len(whole) // 40])
        result = replay(recording)
        assert result.same, result.difference
        assert result.inputs <= complete
        recording.write_bytes(whole)


def test_a_scheduler_that_decides_otherwise_is_found_at_its_first_different_input(
    tmp_path: Path,
) -> None:
    path = tmp_path / "run.jsonl"
    record(path, predicates=False)

    class Reversed:
        """The real core, given its nodes in the opposite order."""

        def __init__(
            self,
            predicates: Predicates,
            *,
            preemption: PreemptionPredicates,
            reservation_delay_ns: int | None,
            limits: Limits,
        ) -> None:
            delay_ns = reservation_delay_ns
            inner = Scheduler(
                predicates, preemption=preemption, reservation_delay_ns=delay_ns, limits=limits
            )
            self.step, self.next_deadline = inner.step, inner.next_deadline
            self.has_work, self.view = inner.has_work, inner.view
            self.check = inner.check
            self._inner = inner

        def handle(self, command: Command, now_ns: int) -> list[object]:
            if isinstance(command, commands.UpdateNodes):
                command = commands.UpdateNodes(command.rm_id, command.nodes[::-1])
            return list(self._inner.handle(command, now_ns))

    result = replay(path, Reversed)  # type: ignore[arg-type]
    assert not result.same
    assert result.inputs == 1
    assert result.difference.startswith("input 2 (UpdateNodes): its ")
    assert result.difference.endswith("effects differ from the recorded ones")


def test_a_scheduler_that_asks_other_questions_is_found(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    record(path, predicates=True)
    first_answer = next(line for line in lines(path) if line.startswith(b'["answer"'))
    changed = first_answer.replace(b'"rm"', b'"other"')
    path.write_bytes(path.read_bytes().replace(first_answer, changed, 1))
    result = replay(path)
    assert "predicates were asked about 'k" in result.difference
    assert "('rm') to run on n0" in result.difference
    assert "recorded is 'k" in result.difference
    assert "('other') to run on n0" in result.difference


def test_a_fault_during_the_last_input_shows_again(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    loop = SchedulerLoop(FakeScheduler, recorder=JournalWriter(path))
    loop.start()
    loop.submit(commands.UpdateApplications("rm", new=(commands.NewApplication("fault"),)))
    assert loop.ended.exception(10) is not None
    result = replay(path, FakeScheduler)
    assert result.inputs == 0
    assert result.difference.startswith(
        "input 1 (UpdateApplications): the scheduler failed: ZeroDivisionError"
    )


@pytest.mark.parametrize(
    "content, complaint",
    [
        (b"", "empty, not a recording"),
        (b"hello\n", ":1: not a line of a recording"),
        (b"hello", ":1: not a recording of remuda"),
        (b'["step",1,1,2]\n', ":1: not a recording of remuda"),
        (
            b'["remuda-recording",99]\n',
            ":1: a recording of format 99; this version reads formats 5, 6, 7 and 8",
        ),
        (
            b'["remuda-recording",3]\n',
            ":1: a recording of format 3; this version reads formats 5, 6, 7 and 8",
        ),
        (b'["remuda-recording",6]\n', ":1: not a recording of remuda, it has no reservation"),
        (b'["remuda-recording",6,null]\nrubbish\n', ":2: not a line of a recording"),
        (b'["remuda-recording",6,null]\n["command",1,1,"Nonsense",{}]\n', ":2: not a line"),
        (
            b'["remuda-recording",6,null]\n["command",1,1,"UpdateNodes",{"rm_id":3}]\n',
            ":2: not a line",
        ),
        (b'["remuda-recording",8,null]\nrubbish\n["step",1,1,2]\n', ":2: not a line"),
        (b'["remuda-recording",8,null]\n["end",0]\n["step",1,1,2]\n', ":3: a line after the end"),
        (b'["remuda-recording",8,null]\n["end",3]\n', ":2: the end of 3 inputs where input 1 was"),
        (
            b'["remuda-recording",8,null]\n["remuda-recording",4,null]\n',
            ":2: a recording of format",
        ),
        (b'["remuda-rec', ":1: torn in its first line, nothing was recorded"),
        (b'["remuda-rec\n["remuda', ":1: torn in its first line, nothing was recorded"),
        pytest.param(
            b'["remuda-recording",6,null]\n' + b"[" * 1_000_000 + b"\n", ":2: not a line", id="deep"
        ),
        pytest.param(bytes(2_000), ":1: not a recording of remuda, the line is too", id="zeros"),
    ],
)
def test_a_file_that_is_no_recording_is_refused_in_one_line(
    tmp_path: Path, content: bytes, complaint: str
) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    with pytest.raises(UsageError) as caught:
        replay(path)
    assert complaint in str(caught.value)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_line_without_an_end_is_not_read_to_its_end(
    recording: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    longest = max(map(len, lines(recording)))
    monkeypatch.setattr("remuda.runtime.recorded.LINE_BYTES_LIMIT", longest)
    assert replay(recording).same
    monkeypatch.setattr("remuda.runtime.recorded.LINE_BYTES_LIMIT", longest - 1)
    with pytest.raises(UsageError, match="the line is too long"):
        replay(recording)


def input_at(path: Path, number: int) -> int:
    """The index of the line at which an input begins."""
    return next(
        index
        for index, line in enumerate(lines(path))
        if line.startswith((b'["command",%d,' % number, b'["step",%d,' % number))
    )


def quiet_input(path: Path) -> int:
    """The number of an input without effects."""
    outcomes = [line for line in lines(path) if line.startswith(b'["outcome"')]
    return 1 + outcomes.index(QUIET)


def test_a_step_that_is_there_twice_is_found(recording: Path) -> None:
    written = lines(recording)
    step = next(i for i, line in enumerate(written) if line.startswith(b'["step"'))
    recording.write_bytes(b"".join([*written[: step + 1], written[step], *written[step + 1 :]]))
    with pytest.raises(UsageError, match=f":{step + 2}: input .* where the outcome of input"):
        replay(recording)


def test_an_input_without_effects_is_missed_doubled_or_moved(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    loop = SchedulerLoop(recorder=JournalWriter(path))
    loop.start()
    registration = commands.RegisterResourceManager("rm", built_in())
    assert loop.register(registration).result(60).reason == ""
    for _ in range(3):
        loop.submit(commands.UpdateAllocations("rm"))
    loop.barrier().result(60)
    loop.stop()
    assert replay(path).inputs == 4

    written = lines(path)
    quiet = quiet_input(path)
    at = input_at(path, quiet)
    both = written[at : at + 2]
    head, tail = written[:at], written[at + 2 :]
    for changed in (
        [*head, *tail],
        [*head, *both, *both, *tail],
        [*head, *tail[:2], *both, *tail[2:]],
        [*head, both[0], *tail],
        [*head, both[1], *tail],
    ):
        path.write_bytes(b"".join(changed))
        with pytest.raises(UsageError, match="lines were lost, added or moved"):
            replay(path)


def test_a_recording_is_never_overwritten_but_goes_on_with_a_segment(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    path.touch()
    record(path, predicates=False)
    first = path.read_bytes()
    record(path, predicates=True)
    assert path.read_bytes().startswith(first)
    result = replay(path)
    assert result.same
    assert [segment.torn for segment in result.segments] == ["", ""]
    assert [segment.line for segment in result.segments] == [1, first.count(b"\n") + 1]
    alone = path.read_bytes()[len(first) :]
    path.write_bytes(alone)
    assert replay(path).digest == result.digest


def test_after_a_crash_the_next_segment_follows_what_was_cut_off(recording: Path) -> None:
    whole = recording.read_bytes()
    header = len(lines(recording)[0])
    for cut in (1, 10, header - 1, header, header + 1, *range(header + 2, len(whole), 400)):
        recording.write_bytes(whole[:cut])
        record(recording, predicates=False)
        result = replay(recording)
        assert result.same, (cut, result.difference)
        *torn, complete = result.segments
        assert len(torn) == (cut >= header - 1)
        for segment in torn:
            assert segment.torn.startswith(("in the middle of line ", "after line "))
        assert (complete.torn, complete.unfinished) == ("", False)
        assert complete.inputs > len(inputs())
        assert complete.digest.encode() in lines(recording)[-2]


@pytest.mark.parametrize("removed, torn", [(1, "after line"), (5, "in the middle of line")])
def test_a_torn_recording_is_said_to_be_torn(recording: Path, removed: int, torn: str) -> None:
    assert [segment.torn for segment in replay(recording).segments] == [""]
    written = lines(recording)
    end = f'["end",{replay(recording).inputs}]\n'.encode()
    assert written[-1] == end
    kept = b"".join(written[:-1]) + (end[:-removed] if removed > 1 else b"")
    recording.write_bytes(kept)
    (segment,) = replay(recording).segments
    number = len(written) - (removed == 1)
    assert segment.torn == f"{torn} {number}"
    assert not segment.unfinished


def test_a_difference_in_a_later_segment_names_it(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    record(path, predicates=False)
    count = len(lines(path))
    record(path, predicates=False)
    written = lines(path)
    written[count:] = [
        line.replace(b'"node_id":"n3"', b'"node_id":"n9"') for line in written[count:]
    ]
    path.write_bytes(b"".join(written))
    result = replay(path)
    place = f"segment 2 (line {count + 1}), input 2 (UpdateNodes): its "
    assert result.difference.startswith(place)


def test_a_file_that_is_recorded_to_is_not_recorded_to_by_another(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    writer = JournalWriter(path)
    with pytest.raises(UsageError, match="another scheduler records to it"):
        JournalWriter(path)
    writer.close()
    JournalWriter(path).close()


def test_a_first_line_that_nests_too_deep_to_be_read_is_one_that_was_cut_off(
    tmp_path: Path,
) -> None:
    path = tmp_path / "run.jsonl"
    content = b'["remuda-recording",8,null,{},' + b"[" * 990 + b"\n"
    path.write_bytes(content)
    JournalWriter(path).close()
    assert path.read_bytes() == content


@pytest.mark.parametrize("content", [b"hello", b"hello\n", b'["step",1,1,2]\n', b"[]\n", bytes(9)])
def test_what_is_no_recording_is_kept_and_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "notes.txt"
    path.write_bytes(content)
    with pytest.raises(
        UsageError, match=r"exists already and is no recording .* remove it or name"
    ):
        JournalWriter(path)
    assert path.read_bytes() == content


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full device here")
def test_a_full_device_is_said_before_anything_starts() -> None:
    with pytest.raises(RecordingError, match="cannot record to /dev/full: No space left"):
        SchedulerLoop(recorder=JournalWriter(Path("/dev/full")))


def test_a_missing_file_and_a_place_that_cannot_be_written_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot read"):
        replay(tmp_path / "missing")
    with pytest.raises(UsageError, match="cannot record to"):
        JournalWriter(tmp_path / "missing" / "run.jsonl")


@pytest.mark.remuda_rule("SI-85", "SI-87")
def test_changes_of_the_configuration_are_recorded_and_repeated(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    loop = SchedulerLoop(recorder=JournalWriter(path))
    loop.start()
    registration = commands.RegisterResourceManager("rm", built_in())
    assert loop.register(registration).result(60).reason == ""
    for request in inputs()[:3]:
        loop.submit(request)
    loop.idle().result(60)
    text = "partitions: [{name: gpu, queues: [{name: root, queues: [{name: a, limits: "
    text += "[{users: [ann], maxapplications: 1}]}]}]}]"
    update = commands.UpdateConfiguration("rm", load_configuration(text), {"log.level": "DEBUG"})
    assert not loop.configurations.update(update).result(60).refused
    loop.idle().result(60)
    loop.stop()
    result = replay(path)
    assert result.same, result.difference
    written = [line for line in lines(path) if b'"UpdateConfiguration"' in line]
    assert len(written) == 1
    assert b'"log.level":"DEBUG"' in written[0]


def test_the_digest_does_not_depend_on_batches_or_on_the_order_of_a_mapping() -> None:
    scheduler = FakeScheduler()
    one = Ask("a", "k1", {"vcore": 1, "memory": 2})
    same = Ask("a", "k1", {"memory": 2, "vcore": 1})
    other = Ask("a", "k1", {"memory": 1, "vcore": 2})
    digests = []
    for batches in ([(one,), (one,)], [(one, same)], [(same, other)]):
        digest = EffectDigest()
        for batch in batches:
            scheduler.handle(commands.UpdateAllocations("rm", asks=batch), 0)
            digest.update(scheduler.step(0, 10))
        digests.append(digest.hexdigest())
    assert digests[0] == digests[1]
    assert digests[1] != digests[2]
