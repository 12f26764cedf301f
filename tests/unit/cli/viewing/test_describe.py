"""``remuda describe``, ``tree``, ``top``, ``history`` and ``fairshare`` on canned answers."""

from __future__ import annotations

import csv
from io import StringIO
from typing import Any

import pytest

from remuda.cli.program import run
from remuda.cli.viewing.ranking import ranked
from remuda.cli.viewing.trees import ASCII, bar, marks_for, nearest, tree_rows
from tests.unit.cli.viewing.canned import (
    APPLICATION,
    GOLDEN,
    NODE,
    PREEMPTION,
    QUEUE,
    ROOT,
    USER,
    Canned,
    P,
    served,
)

HOSTILE = "\x1b[2J\u202e\n"

# REST-120, REST-121 and EXT-60, for the application of REST-133.
PENDING = {
    "applicationID": "job-1",
    "partition": "default",
    "queueName": "root.etl",
    "position": 2,
    "of": 3,
    "requests": [
        {
            "allocationKey": "t-2",
            "position": 1,
            "reason": "nodes",
            "since": 1767225605000000000,
            "finding": {
                "gate": "nodes",
                "requested": {"memory": 95, "vcore": 1000},
                "nodes": {"total": 5, "draining": 1, "noRoom": 4, "reasons": {"no gpu": 4}},
                "since": 1767225605000000000,
                "lastOccurrence": 1767225609000000000,
                "preemption": "no victims",
            },
        }
    ],
}
SHARE = {
    "queueName": "root.etl",
    "share": 0.1,
    "terms": [],
    "priority": 0,
    "allocated": {"vcore": 1000},
    "pending": {"vcore": 1001},
    "guaranteed": {"vcore": 2000},
    "owed": {"vcore": 1000},
    "belowSince": 1767225600000000000,
}
MORE: dict[str, Any] = {
    f"{P}/application/job-1/pending": PENDING,
    f"{P}/queue/root.etl/applications": [APPLICATION],
    f"{P}/queue/root.etl/pending": [
        {
            "position": 1,
            "applicationID": "job-1",
            "applicationState": "Starting",
            "user": "ann",
            "submissionTime": 1767225601000000000,
            "pendingRequests": 1,
            "allocationKey": "t-2",
            "reason": "user quota",
            "subject": "ann",
            "since": 1767225605000000000,
        }
    ],
    f"{P}/queue/root.etl/fairshare": {"queue": SHARE, "samples": []},
    f"{P}/queue/root": ROOT,
    f"{P}/fairshare": [SHARE],
    "/ws/v1/history/apps": [
        {"timestamp": 60_000_000_000 * at, "totalApplications": str(at)} for at in (1, 2, 3)
    ],
    "/ws/v1/history/containers": [
        {"timestamp": 60_000_000_000 * at, "totalContainers": str(10 * at)} for at in (1, 2, 3)
    ],
}


class Ran:
    """Runs a command on canned answers."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self.capsys = capsys
        self.canned = Canned({**GOLDEN, **MORE})

    def __call__(self, *arguments: str, code: int = 0) -> str:
        with served(self.canned) as address:
            found = run([*arguments, "--server", address])
        out, self.err = self.capsys.readouterr()
        assert found == code, self.err
        return out


@pytest.fixture
def ran(capsys: pytest.CaptureFixture[str]) -> Ran:
    return Ran(capsys)


def sections(text: str) -> dict[str, list[str]]:
    """The lines of a description by the title above them; "" for the facts."""
    found: dict[str, list[str]] = {"": []}
    title = ""
    for line in text.splitlines():
        if line.endswith(":") and not line.startswith(" "):
            title = line[:-1]
            found[title] = []
        elif line:
            found[title].append(" ".join(line.split()))
    return found


@pytest.mark.remuda_rule("EXT-79")
def test_an_application_says_why_it_waits(ran: Ran) -> None:
    found = sections(ran("describe", "app", "job-1"))
    assert found[""][:4] == [
        "Application: job-1",
        "State: Starting",
        "Queue: root.etl",
        "User: ann",
    ]
    why = found["Why it waits"]
    assert why[0] == "served as 2 of 3 in root.etl"
    assert why[1].startswith("t-2: nodes, for ")
    assert why[2:] == [
        "asked 1 core, 95 B, available -",
        "of 5 nodes: 1 drain, 4 have no room",
        "4 x no gpu",
        "no preemption: no victims",
    ]
    assert [line.split()[-1] for line in found["States"]] == ["Accepted", "Starting"]
    assert found["Allocations"][1].startswith("t-1-0 n1 1 core, 10 B")
    assert "allocation added t-1-0 1 core, 10 B" in found["Latest events"][1]


@pytest.mark.remuda_rule("EXT-79")
def test_a_queue_says_what_is_in_it_and_what_it_is_owed(ran: Ran) -> None:
    found = sections(ran("describe", "queue", "root.etl"))
    assert "Maximum: 10 cores, 100 B" in found[""]
    assert found["Applications"][1].startswith("job-1 Starting ann 1 core, 10 B 1 core, 95 B")
    assert found["Waiting, in the order of service"] == [
        "1. job-1 of ann: 1 ask, first t-2 (user quota: ann)"
    ]
    assert found["Fair share"][0] == "share 0.1, by which its parent compares it"
    assert found["Fair share"][1].endswith("; owed 1 core")


@pytest.mark.parametrize(
    "kind, name, title, line",
    [
        ("node", "n1", "Attributes", "si/rackname = /r1"),
        ("user", "ann", "By queue", "root.etl: 1 core, 10 B of 90 B; 1 of 5 applications"),
        ("group", "bi", "By queue", "root: 1 core, 10 B; 1 applications"),
        ("preemption", "7", "Victims", "job-9/v-0 in root.low on n1: 1 core, not ended yet"),
        ("partition", "default", "Applications by state", "Accepted: 1"),
        ("ask", "job-1/t-2", "", "Waits for: user quota: ann"),
        ("allocation", "job-1/t-1-0", "Tags", "k = v"),
        ("reservation", "n1/job-1/t-2", "", "Node: n1"),
        ("event", "job-1", "", "What: allocation added"),
    ],
)
def test_each_kind_has_its_sections(ran: Ran, kind: str, name: str, title: str, line: str) -> None:
    assert line in sections(ran("describe", kind, name))[title]


@pytest.mark.remuda_rule("EXT-79")
def test_a_section_that_is_refused_says_so_and_the_others_are_shown(ran: Ran) -> None:
    for path in ("fairshare", "pending", "applications"):
        del ran.canned.answers[f"{P}/queue/root.etl/{path}"]
    found = sections(ran("describe", "queue", "root.etl"))
    assert found["Fair share"] == ["not shown: Root.etl not found"]
    assert found["Applications"] == ["not shown: Root.etl not found"]


@pytest.mark.remuda_rule("EXT-76")
def test_hostile_texts_stay_in_their_lines(ran: Ran) -> None:
    answers = ran.canned.answers
    asks = [{**APPLICATION["requests"][0], "allocationKey": HOSTILE}]
    answers[f"{P}/application/job-1"] = {**APPLICATION, "requests": asks, "user": HOSTILE}
    pending = [{**PENDING["requests"][0], "allocationKey": HOSTILE}]  # type: ignore[index]
    answers[f"{P}/application/job-1/pending"] = {**PENDING, "requests": pending}
    answers[f"{P}/node/n1"] = {**NODE, "attributes": {HOSTILE: HOSTILE}}
    answers[f"{P}/queue/root"] = {**ROOT, "children": [{**QUEUE, "queuename": f"root.{HOSTILE}"}]}
    answers[f"{P}/usage/users"] = [{**USER, "userName": HOSTILE}]
    answers[f"{P}/preemption/7"] = {**PREEMPTION, "reasons": [HOSTILE]}
    for arguments in (
        ("describe", "app", "job-1"),
        ("describe", "node", "n1"),
        ("describe", "preemption", "7"),
        ("tree",),
        ("top", "users", "--once"),
    ):
        text = ran(*arguments)
        assert all(line.isprintable() for line in text.splitlines())
        assert r"\x1b[2J\u202e" in text


def test_what_is_not_there_is_code_3(ran: Ran) -> None:
    assert ran("describe", "node", "n9", code=3) == ""
    assert ran.err == "remuda: node 'n9': Node not found\n"
    assert ran("tree", "root.x", code=3) == ""
    assert ran.err == "remuda: queue 'root.x': Queue not found\n"


@pytest.mark.parametrize(
    "arguments, said",
    [
        (("describe", "pod", "x"), "no kind 'pod'"),
        (("describe", "node"), "NAME"),
        (("top", "groups"), "there is no top of groups"),
        (("top", "nodes", "--partition", "x"), "no partition 'x'"),
        (("top", "nodes", "--every", "0.01"), "--every is 0.01"),
        (("fairshare", "--sort-by", "x"), "--sort-by"),
        (("history", "--limit", "x"), "--limit"),
        (("events", "--type", "pod"), "--type: 'pod' is none of ask, application, node"),
        (("events", "--since", "soon"), "--since: 'soon' is no time; write 14:05"),
        (("events", "--until", "25:00"), "--until: '25:00'"),
        (("events", "--follow", "-o", "json"), "--follow writes row by row"),
        (("events", "--follow", "--until", "1m"), "exclude each other"),
    ],
)
def test_a_wrong_command_line_is_one_line_and_code_2(
    ran: Ran, arguments: tuple[str, ...], said: str
) -> None:
    assert ran(*arguments, code=2) == ""
    assert said in ran.err
    assert ran.err.count("\n") == 1


def test_history_has_the_last_minutes_of_both_numbers(ran: Ran) -> None:
    rows = list(csv.DictReader(StringIO(ran("history", "--limit", "2", "-o", "csv"))))
    assert [(row["applications"], row["allocations"]) for row in rows] == [("2", "20"), ("3", "30")]
    assert rows[0]["time"] == "1970-01-01T00:02:00.000000000Z"


def test_fairshare_says_what_is_owed(ran: Ran) -> None:
    line = ran("fairshare").splitlines()[1]
    cells = [cell.strip() for cell in line.split("  ") if cell.strip()]
    assert cells[:6] == ["root.etl", "0.1", "1 core", "1 core", "2 cores", "1 core"]


def test_events_are_those_of_a_time(ran: Ran) -> None:
    then = "2026-01-01T00:00:02+00:00"
    assert ran("events", "--until", then, "-o", "name") == ""
    assert ran("events", "--until", "2026-01-01T00:00:03+00:00", "-o", "name") == "3\n"
    ran("events", "job-1", "--since", then, "--type", "application", "--limit", "7")
    options = ran.canned.asked[-1][1]
    assert options["since"] == str(1767225602 * 10**9)
    assert (options["type"], options["objectID"]) == ("2", "job-1")
    assert (options["start"], options["count"]) == ("latest", "7")


def test_the_largest_share_is_at_the_top(ran: Ran) -> None:
    rows = [
        {"userName": "a", "queues": {"resourceUsage": {"vcore": 10}}},
        {"userName": "b", "queues": {"resourceUsage": {"vcore": 1, "gpu": 4}}},
        {"userName": "d", "queues": {}},
        {"userName": "c", "queues": {"resourceUsage": {"other": 99}}},
    ]
    found = ranked(rows, {"vcore": 100, "gpu": 8})
    assert [row["userName"] for row in found] == ["b", "a", "c", "d"]
    nodes = [
        {"nodeID": "large", "allocated": {"vcore": 20}, "capacity": {"vcore": 80}},
        {"nodeID": "small", "allocated": {"vcore": 7}, "capacity": {"vcore": 8}},
    ]
    assert [row["nodeID"] for row in ranked(nodes, {"vcore": 88})] == ["small", "large"]


def test_top_in_a_pipe_is_one_table_below_the_cluster(ran: Ran) -> None:
    lines = ran("top", "nodes").splitlines()
    assert lines[0] == "default: 1c/25c, 10B/250B, 2 applications, 2 nodes, 1 allocations"
    assert lines[1].split()[0] == "NODE"
    assert lines[2].split()[0] == "n1"


def parts(used: int = 0, pending: int = 0, guaranteed: int = 0) -> dict[str, int]:
    return {"used": used, "pending": pending, "guaranteed": guaranteed}


@pytest.mark.parametrize(
    "found, bound, text",
    [
        (parts(), 100, ".........."),
        (parts(used=50), 100, "#####....."),
        (parts(used=1), 100, "#........."),
        (parts(used=50, pending=20), 100, "#####--..."),
        (parts(used=90, pending=500), 100, "#########-"),
        (parts(used=300), 100, "##########"),
        (parts(used=20, guaranteed=60), 100, "##....|..."),
        (parts(used=20, guaranteed=100), 100, "##.......|"),
        (parts(used=20, guaranteed=101), 100, "##........"),
        (parts(used=20), 0, ""),
    ],
)
def test_a_bar(found: dict[str, int], bound: int, text: str) -> None:
    assert bar(found, bound, ASCII, 10) == text


def test_a_queue_may_use_what_all_above_it_may() -> None:
    leaf = {
        "queuename": "root.a.b",
        "maxResource": {"vcore": 50, "gpu": 4},
        "allocatedResource": {"vcore": 8},
    }
    root = {
        "queuename": "root",
        "maxResource": {"vcore": 100},
        "children": [
            {"queuename": "root.a", "maxResource": {"vcore": 10}, "children": [leaf]},
            {"queuename": "root.z"},
        ],
    }
    rows = list(tree_rows(root, "vcore", ASCII))
    assert [row["name"] for row in rows] == ["root", "|- a", "|  `- b", "`- z"]
    assert [row["maximum"]["vcore"] for row in rows] == [100, 10, 10, 100]
    assert rows[2]["percent"] == 80
    assert next(tree_rows(leaf, "", ASCII))["used"] == {"vcore": 8}


def test_a_bar_is_of_the_type_nearest_to_its_maximum() -> None:
    assert nearest({"a": 1, "b": 3}, {}, {"a": 10, "b": 10}) == "b"
    assert nearest({}, {"a": 1}, {"a": 10, "b": 10}) == "a"
    assert nearest({}, {}, {"b": 1, "a": 1, "c": 0}) == "a"
    assert nearest({"a": 1}, {}, {}) == ""


def test_an_output_without_those_characters_gets_others() -> None:
    assert marks_for("ascii") is ASCII
    assert marks_for("UTF-8") != ASCII
