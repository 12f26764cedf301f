"""``remuda at`` and ``remuda bisect``: what they say and with which exit code."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

from remuda import Moment
from remuda.config.load import load_configuration
from remuda.core.messages.commands import (
    Ask,
    NewApplication,
    RegisterResourceManager,
    UpdateAllocations,
    UpdateApplications,
)
from remuda.runtime.journals.writer import Journal
from remuda.runtime.loop import SchedulerLoop
from tests.e2e.serving import run_remuda
from tests.unit.runtime.journals.written import QUEUES, SHORT, journal_of


@pytest.fixture(scope="module")
def journal(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A journal of several segments."""
    directory = tmp_path_factory.mktemp("journal")
    assert len(journal_of(directory, 90)) >= 4
    return directory


@pytest.mark.remuda_rule("EXT-49")
def test_a_moment_is_shown_explained_and_written(journal: Path, tmp_path: Path) -> None:
    state = tmp_path / "state"
    done = run_remuda("at", str(journal), "50")
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0].startswith("after input 50, which came 20")
    assert lines[1:4] == ["1 partitions", "2 nodes", "2 applications"]
    done = run_remuda("at", str(journal), "--output", str(state))
    assert (done.returncode, done.stderr) == (0, "")
    shown = run_remuda("snapshot", str(state))
    assert shown.returncode == 0
    assert "\n2 nodes\n" in shown.stdout


@pytest.mark.remuda_rule("EXT-115")
def test_a_time_that_was_printed_names_the_same_input(journal: Path) -> None:
    for number in (40, 41, 50, 89):
        first = run_remuda("at", str(journal), str(number)).stdout.splitlines()[0]
        said, _, when = first.partition(", which came ")
        assert said == f"after input {number}"
        assert run_remuda("at", str(journal), when).stdout.splitlines()[0] == first


@pytest.mark.remuda_rule("EXT-116")
def test_a_pipe_in_a_journal_is_no_segment(journal: Path, tmp_path: Path) -> None:
    directory = tmp_path / "journal"
    shutil.copytree(journal, directory)
    before = run_remuda("at", str(directory))
    os.mkfifo(directory / "000000000000999-20260101T000000Z.jsonl")
    os.mkfifo(directory / "000000000000999-20260101T000000Z.state")
    after = run_remuda("at", str(directory))
    assert (after.returncode, after.stdout) == (0, before.stdout)


@pytest.mark.remuda_rule("EXT-49")
def test_why_an_ask_waited_is_told(tmp_path: Path) -> None:
    journal_of(tmp_path, 130)
    done = run_remuda("at", str(tmp_path), "--explain", "app-a")
    assert (done.returncode, done.stderr) == (0, "")
    assert "app-a/k" in done.stdout
    assert "waits: 1 pending, each vcore 500m" in done.stdout
    assert "queue quota: root.a has" in done.stdout
    done = run_remuda("at", str(tmp_path), "1", "--explain", "app-a")
    assert done.returncode == 2
    assert done.stderr == "remuda: application 'app-a' had no ask that waited then\n"
    done = run_remuda("at", str(tmp_path), "--explain", "app-a/none")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "remuda: there was no ask 'app-a/none' then; write APPLICATION/KEY\n"


@pytest.fixture(scope="module")
def crowded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A journal with two partitions of one RM and one of another; an ID has a slash."""
    directory = tmp_path_factory.mktemp("crowded")
    loop = SchedulerLoop(recorder=Journal(directory, SHORT))
    loop.start()
    two = QUEUES + "  - {name: spare, queues: [{name: root}]}\n"
    for rm, queues in (("rm", two), ("rm-2", QUEUES)):
        registration = RegisterResourceManager(rm, load_configuration(queues))
        assert loop.register(registration).result(30).reason == ""
        loop.submit(UpdateApplications(rm, (NewApplication(f"{rm}/x", "root.a", user="u"),)))
        ask = Ask(f"{rm}/x", "k/0", {"vcore": 500})
        loop.submit(UpdateAllocations(rm, asks=(ask,)))
    loop.idle().result(30)
    loop.stop()
    return directory


@pytest.mark.remuda_rule("EXT-49")
def test_a_moment_of_several_partitions_is_shown_and_written_whole(
    crowded: Path, tmp_path: Path
) -> None:
    done = run_remuda("at", str(crowded))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[1:4] == ["3 partitions", "0 nodes", "2 applications"]
    assert run_remuda("at", str(crowded), "--output", str(tmp_path / "state")).returncode == 0
    done = run_remuda("at", str(crowded), "--output", "/")
    assert (done.returncode, done.stderr) == (2, "remuda: cannot write /: it is a directory\n")


@pytest.mark.remuda_rule("EXT-49")
@pytest.mark.parametrize("rm", ["rm", "rm-2"])
@pytest.mark.parametrize("key", ["", "/k/0"])
def test_an_ask_of_any_resource_manager_is_explained(crowded: Path, rm: str, key: str) -> None:
    where = ("--partition", "default", "--rm", rm)
    done = run_remuda("at", str(crowded), "--explain", f"{rm}/x{key}", *where)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[1].startswith(f"{rm}/x/k/0 waits: 1 pending")
    question = f"explain('{rm}/x', 'k/0').pending"
    found = run_remuda("bisect", str(crowded), question, *where)
    assert found.stdout.splitlines()[1:] == ["before: 0", "after:  1"]


def fetched(address: str, path: str) -> Any:
    """What the HTTP API answers."""
    with urlopen(f"http://{address}/ws/v1/{path}", timeout=30) as answer:
        return json.load(answer)


@pytest.mark.remuda_rule("EXT-101")
def test_a_moment_is_served_and_stays_as_it_was(journal: Path) -> None:
    new_ask = next(n for n in range(30, 60) if Moment.read(journal, n).pending())
    moment = Moment.read(journal, new_ask)
    arguments = ["at", str(journal), str(new_ask), "--rest-address", "127.0.0.1:0"]
    # As on a machine where nobody set it.
    usual = {name: text for name, text in os.environ.items() if not name.startswith("GRPC_")}
    with subprocess.Popen(
        [sys.executable, "-m", "remuda", *arguments],
        stdout=subprocess.PIPE,
        text=True,
        env=usual,
    ) as process:
        try:
            assert process.stdout is not None
            address = next(
                line.removeprefix("listening rest=").strip()
                for line in process.stdout
                if line.startswith("listening rest=")
            )
            for _ in range(2):
                (partition,) = fetched(address, "partitions")
                assert partition["totalContainers"] == len(moment.allocations())
                found = fetched(address, "partition/default/applications/active")
                waiting = {
                    (each["applicationID"], ask["allocationKey"])
                    for each in found
                    for ask in each.get("requests", ())
                }
                assert waiting == {(a.application_id, a.allocation_key) for a in moment.pending()}
                assert waiting
                application, key = min(waiting)
                path = f"partition/default/application/{application}/ask/{key}/explain"
                told = fetched(address, path)
                assert told["text"] == str(moment.explain(application, key)).split("\n")
            assert fetched(address, "scheduler/healthcheck")["Healthy"]
        finally:
            process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0


@pytest.mark.remuda_rule("EXT-100")
def test_the_input_that_changed_an_answer_is_named(journal: Path, tmp_path: Path) -> None:
    checks = tmp_path / "checks.py"
    checks.write_text("def placed(moment):\n    return len(moment.allocations()) >= 20\n")
    expression = run_remuda("bisect", str(journal), "len(allocations()) >= 20")
    function = run_remuda("bisect", str(journal), "--function", f"{checks}:placed")
    for done in (expression, function):
        assert (done.returncode, done.stderr) == (0, "")
        first, before, after = done.stdout.splitlines()
        number = int(first.removeprefix("input ").partition(" ")[0])
        assert (before, after) == ("before: False", "after:  True")
        for at, reached in ((number - 1, False), (number, True)):
            shown = run_remuda("at", str(journal), str(at))
            (placed,) = [ln for ln in shown.stdout.splitlines() if ln.endswith(" allocations")]
            assert (int(placed.split()[0]) >= 20) is reached


@pytest.mark.remuda_rule("EXT-100")
def test_a_question_knows_the_number_of_the_input(journal: Path) -> None:
    done = run_remuda("bisect", str(journal), "number >= 60")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("input 60 (")


@pytest.mark.remuda_rule("EXT-100")
def test_nothing_to_find_is_code_three(journal: Path) -> None:
    done = run_remuda("bisect", str(journal), "len(allocations()) < 10**6")
    assert (done.returncode, done.stderr) == (3, "")
    assert done.stdout == "the answer is the same at both ends: True\n"


@pytest.mark.remuda_rule("EXT-49", "EXT-100")
@pytest.mark.parametrize(
    "arguments, code, said",
    [
        (("at", "{}", "yesterday"), 2, "WHEN 'yesterday' is no moment; write an input's number"),
        (("at", "{}", "9" * 40), 2, "no journal has so many inputs"),
        (("at", "{}", "99999"), 2, "the journal has inputs up to"),
        (("at", "{}", "1999-01-01"), 2, "the journal begins later, with input 1"),
        (("at", "/nowhere"), 2, "cannot read /nowhere"),
        (("at", "{}", "1", "--rest-address", "here"), 2, "--rest-address"),
        (
            ("at", "{}", "--explain", "app-a", "--partition", "x"),
            2,
            "no partition 'x'; there are: default",
        ),
        (("bisect", "{}"), 2, "give one question"),
        (("bisect", "{}", "1 +"), 2, "the question is no Python expression"),
        (("bisect", "{}", "1", "--since", "99999"), 2, "the journal has inputs up to"),
        (("bisect", "{}", "1", "--partition", "x"), 2, "no partition 'x'; there are: default"),
        (("bisect", "{}", "exit(7)"), 1, "the question failed about 20"),
        (("bisect", "{}", "nothing()"), 1, "NameError: name 'nothing' is not defined"),
        (("bisect", "{}", "--function", "none.py:f"), 2, "cannot read none.py"),
        (("bisect", "{}", "--function", "none.py"), 2, "write FILE:NAME"),
        (("bisect", "{}", "1", "--since", "later"), 2, "--since 'later' is no moment"),
        (("bisect", "{}", "1", "--since", "20", "--until", "10"), 2, "comes before the beginning"),
    ],
)
def test_what_is_wrong_is_one_line(
    journal: Path, arguments: tuple[str, ...], code: int, said: str
) -> None:
    done = run_remuda(*(each.format(journal) for each in arguments))
    assert (done.returncode, done.stdout) == (code, "")
    assert said in done.stderr
    assert done.stderr.count("\n") == 1
