"""``remuda get`` on the answers that chapter 95 gives as examples."""

from __future__ import annotations

import csv
import json
from io import StringIO
from typing import Any

import pytest
import yaml

from remuda.cli.program import run
from remuda.cli.viewing.kinds import KINDS, kind_of
from tests.unit.cli.test_server import answering
from tests.unit.cli.viewing.canned import (
    APPLICATION,
    EVENT,
    NODE,
    QUEUE,
    Canned,
    P,
    served,
)

HOSTILE = "\x1b[2J\u202e=cmd\n,\"'"


class Got:
    """Runs ``remuda get`` on canned answers."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self.capsys = capsys
        self.canned = Canned()

    def __call__(self, *arguments: str, code: int = 0) -> str:
        with served(self.canned) as address:
            found = run(["get", *arguments, "--server", address])
        out, self.err = self.capsys.readouterr()
        assert found == code, self.err
        return out

    def json(self, *arguments: str) -> Any:
        return json.loads(self(*arguments, "-o", "json"))


@pytest.fixture
def get(capsys: pytest.CaptureFixture[str]) -> Got:
    return Got(capsys)


def table(text: str) -> list[list[str]]:
    """The cells of a table, whose columns are two blanks apart."""
    return [
        [cell.strip() for cell in line.split("  ") if cell.strip()] for line in text.splitlines()
    ]


@pytest.mark.remuda_rule("EXT-77")
@pytest.mark.parametrize(
    "kind, row",
    [
        (
            "queues",
            [
                "root.etl",
                "Active",
                "1 core, 10 B",
                "1 core, 96 B",
                "1 core, 10 B",
                "10 cores, 100 B",
            ],
        ),
        ("apps", ["job-1", "Starting", "root.etl", "ann", "1 core, 10 B", "1 core, 95 B"]),
        ("asks", ["job-1", "t-2", "root.etl", "1 core, 95 B", "1", "user quota: ann"]),
        ("allocations", ["job-1", "t-1-0", "root.etl", "n1", "1 core, 10 B"]),
        ("no", ["n1", "Ready", "0.006 cores, 75 B", "20 cores, 25 B", "20 cores, 100 B", "75%"]),
        ("users", ["ann", "1 core, 10 B", "-", "1", "-"]),
        ("groups", ["bi", "1 core, 10 B", "-", "1", "-"]),
        ("reservations", ["n1", "job-1", "t-2", "root.etl", "ann"]),
        ("preemptions", ["7", "queue", "waiting", "root.etl", "job-1", "1", "1 core"]),
        ("partitions", ["default", "Active", "1 core, 10 B", "25 cores, 250 B", "2", "2", "1"]),
    ],
)
def test_a_table_has_the_units_of_people(get: Got, kind: str, row: list[str]) -> None:
    found = table(get(kind))
    assert [cells[: len(row)] for cells in found if cells[0] == row[0]] == [row]
    assert found[0] == [c.title for c in kind_of(kind).shown_columns(wide=False)]


def test_events_say_what_happened(get: Got) -> None:
    row = table(get("events"))[1]
    assert row[1:] == [
        "application",
        "job-1",
        "allocation added",
        "t-1-0",
        "1 core, 10 B",
        "-",
    ]


def test_json_has_all_keys_and_exact_numbers(get: Got) -> None:
    assert get.json("applications") == [APPLICATION]
    assert get.json("nodes") == [NODE]
    assert get.json("queues")[1] == QUEUE
    assert get.json("events") == [EVENT]
    lines = get("applications", "-o", "jsonl").splitlines()
    assert [json.loads(line) for line in lines] == [APPLICATION]
    assert yaml.safe_load(get("applications", "-o", "yaml")) == [APPLICATION]


@pytest.mark.parametrize("kind", [kind.name for kind in KINDS])
def test_every_form_of_every_kind_has_the_same_rows(get: Got, kind: str) -> None:
    count = len(get.json(kind))
    assert count in (1, 2)
    assert len(get(kind, "-o", "name").splitlines()) == count
    assert len(get(kind, "-o", "wide").splitlines()) == 1 + count
    rows = list(csv.DictReader(StringIO(get(kind, "-o", "csv"))))
    assert len(rows) == count
    assert list(rows[0]) == [column.key for column in kind_of(kind).columns]


def test_csv_has_base_units_and_times_in_utc(get: Got) -> None:
    row = next(csv.DictReader(StringIO(get("apps", "-o", "csv"))))
    assert row["used"] == "memory=10 vcore=1000"
    assert row["age"] == "2026-01-01T00:00:01.000000000Z"


@pytest.mark.parametrize(
    "arguments, names",
    [
        (("queues", "--queue", "ROOT.etl"), ["root.etl"]),
        (("queues", "-q", "root.et"), []),
        (("apps", "--user", "bob"), []),
        (("apps", "--user", "ann", "--queue", "root"), ["job-1"]),
        (("nodes", "--state", "ready,draining"), ["n1"]),
        (("nodes", "--state", "notready"), []),
        (("nodes", "-l", "si/rackname=/r1,si/hostname"), ["n1"]),
        (("nodes", "-l", "si/rackname!=/r1"), []),
        (("nodes", "-l", "!si/rackname"), []),
        (("nodes", "-l", "zone!=a,!zone"), ["n1"]),
        (("asks", "--state", "user quota"), ["job-1/t-2"]),
        (("allocations", "-l", "k=v"), ["job-1/t-1-0"]),
        (("allocations", "job-1/t-1-0"), ["job-1/t-1-0"]),
        (("allocations", "t-1"), ["job-1/t-1-0"]),
        (("nodes", "n1"), ["n1"]),
        (("events", "job-1"), ["3"]),
        (("events", "job-2"), []),
    ],
)
@pytest.mark.remuda_rule("EXT-77")
def test_options_narrow_a_list(get: Got, arguments: tuple[str, ...], names: list[str]) -> None:
    assert get(*arguments, "-o", "name").splitlines() == names


def test_states_of_applications_decide_which_lists_are_read(get: Got) -> None:
    get.canned.answers[f"{P}/applications/completed"] = [
        {**APPLICATION, "applicationID": "job-0", "applicationState": "Completed"}
    ]
    assert get("apps", "--state", "starting,Completed", "-o", "name") == "job-1\njob-0\n"
    assert get("apps", "--state", "failed", "-o", "name") == ""
    get.canned.asked.clear()
    get("apps", "--state", "running")
    assert [options["status"] for _, options in get.canned.asked] == ["running"]


@pytest.mark.remuda_rule("EXT-77")
def test_rows_are_sorted_by_a_column_then_by_name(get: Got) -> None:
    used = {"e": None, "d": 7, "c": 7, "b": 30, "a": 4}
    get.canned.answers[f"{P}/nodes"] = [
        {**NODE, "nodeID": name, "allocated": {} if each is None else {"gpu": each}}
        for name, each in used.items()
    ]

    def names(*options: str) -> str:
        return "".join(get("nodes", "-o", "name", *options).split())

    assert names() == "edcba"
    assert names("--sort-by", "name") == "abcde"
    assert names("--sort-by", "used.gpu") == "acdbe"
    assert names("--sort-by", "-used.gpu") == "bcdae"
    assert names("--sort-by=-used.gpu", "--limit", "2") == "bc"
    assert names("--limit", "3") == "edc"


@pytest.mark.remuda_rule("EXT-78")
def test_a_long_list_is_read_in_pages_and_no_further_than_needed(get: Got) -> None:
    get.canned.answers[f"{P}/nodes"] = [{**NODE, "nodeID": f"n{at:04}"} for at in range(1200)]
    assert len(get("nodes", "-o", "name").splitlines()) == 1200
    pages = [(o["offset"], o["limit"]) for _, o in get.canned.asked]
    assert pages == [("0", "500"), ("500", "500"), ("1000", "500")]
    get.canned.asked.clear()
    assert get("nodes", "-o", "name", "--limit", "2").split() == ["n0000", "n0001"]
    assert len(get.canned.asked) == 1


@pytest.mark.remuda_rule("EXT-78")
def test_an_element_that_moved_to_the_next_page_is_there_once(get: Got) -> None:
    rows = [{**NODE, "nodeID": f"n{at:04}"} for at in range(600)]

    class Growing(Canned):
        def answer(self, path: str, options: dict[str, str]) -> tuple[int, Any]:
            found = super().answer(path, options)
            self.answers[path] = [{**NODE, "nodeID": "a"}, *rows]
            return found

    get.canned = Growing({f"{P}/nodes": rows})
    names = get("nodes", "-o", "name").split()
    assert names == [row["nodeID"] for row in rows]


def test_a_table_asks_for_the_keys_that_it_shows(get: Got) -> None:
    get("applications")
    fields = get.canned.asked[0][1]["fields"].split(",")
    assert {"applicationID", "applicationState", "usedResource"} < set(fields)
    assert not {"requests", "allocations"} & set(fields)


@pytest.mark.remuda_rule("EXT-76")
@pytest.mark.parametrize("output", ["table", "wide", "json", "jsonl", "yaml", "name", "csv"])
def test_hostile_names_move_no_cursor_and_make_no_formula(get: Got, output: str) -> None:
    get.canned.answers[f"{P}/applications/active"] = [
        {**APPLICATION, "applicationID": HOSTILE, "user": "=cmd|' /C calc'!A0"}
    ]
    text = get("applications", "-o", output)
    assert all(line.isprintable() for line in text.splitlines())
    if output in ("json", "jsonl", "yaml"):
        found = yaml.safe_load(text) if output == "yaml" else json.loads(text)
        row = found[0] if isinstance(found, list) else found
        assert row["applicationID"] == HOSTILE
    else:
        assert len(text.splitlines()) == (1 if output == "name" else 2)
        assert r"\x1b[2J\u202e" in text
    if output == "csv":
        row = next(csv.DictReader(StringIO(text)))
        assert row["user"] == "'=cmd|' /C calc'!A0"


@pytest.mark.parametrize(
    "arguments, said",
    [
        (("pods",), "no kind 'pods'; there are: queues, applications"),
        ((), "KIND"),
        (("nodes", "--user", "ann"), "--user does not select nodes"),
        (("users", "--queue", "root"), "--queue does not select users"),
        (("apps", "-l", "a=b"), "--selector does not select applications"),
        (("nodes", "-l", "=b"), "--selector: '=b' is none of"),
        (("nodes", "-l", "a,,b"), "--selector: '' is none of"),
        (("nodes", "--sort-by", "colour"), "--sort-by: nodes have no 'colour'; they have: name"),
        (("nodes", "--sort-by", "used"), "used.RESOURCE"),
        (("nodes", "--limit", "-1"), "--limit"),
        (("nodes", "-o", "xml"), "xml"),
        (("nodes", "--watch", "-o", "json"), "--watch writes row by row"),
        (("nodes", "--watch", "--every", "0"), "--every is 0"),
        (("nodes", "--watch", "--every", "nan"), "--every is nan"),
    ],
)
def test_a_wrong_command_line_is_one_line_and_code_2(
    get: Got, arguments: tuple[str, ...], said: str
) -> None:
    assert get(*arguments, code=2) == ""
    assert said in get.err
    assert get.err.count("\n") == 1
    assert get.canned.asked == []


@pytest.mark.parametrize(
    "arguments, said",
    [
        (("nodes", "n9"), "node 'n9': Node not found"),
        (("apps", "job-1", "\x1b[31m"), r"application '\x1b[31m': Application not found"),
        (("asks", "t-9"), "no ask 't-9'"),
        (("allocations", "t-1", "x"), "no allocation 'x'"),
    ],
)
def test_a_name_that_is_not_there_is_code_3(
    get: Got, arguments: tuple[str, ...], said: str
) -> None:
    get(*arguments, "-o", "name", code=3)
    assert said in get.err
    assert get.err.count("\n") == 1


def test_an_empty_list_says_so_beside_the_output(get: Got) -> None:
    get.canned.answers[f"{P}/nodes"] = []
    assert get("nodes") == ""
    assert get.err == "no nodes\n"
    assert get.json("nodes") == []
    assert yaml.safe_load(get("nodes", "-o", "yaml")) == []
    assert len(get("nodes", "-o", "csv").splitlines()) == 1


@pytest.mark.parametrize("found", [{"a": 1}, None, "text", 7])
def test_an_answer_of_another_form_is_code_1(get: Got, found: object) -> None:
    get.canned.answers[f"{P}/nodes"] = found
    get("nodes", code=1)
    assert f"the server answered {P}/nodes with what no command reads: expected " in get.err


@pytest.mark.parametrize("arguments", ["get events", "get events --limit 3", "get preemptions"])
@pytest.mark.parametrize("found", [{"EventRecords": [{"a": 1}], "preemptions": 7}, [], None, "x"])
def test_an_object_of_another_form_is_code_1(
    arguments: str, found: object, capsys: pytest.CaptureFixture[str]
) -> None:
    with answering(200, json.dumps(found).encode()) as (address, _):
        assert run([*arguments.split(), "--server", address]) == 1
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.endswith("; is it a remuda of this version?\n")
    assert told.err.count("\n") == 1
