"""The reports for people and for machines, from results that were made up."""

from __future__ import annotations

import io
import json
import xml.etree.ElementTree as ET
from collections.abc import Iterator

import pytest

from remuda.conformance.catalogue import choose
from remuda.conformance.endpoint import Endpoint
from remuda.conformance.failures import Failure
from remuda.conformance.formats import as_json, as_junit
from remuda.conformance.report import Paper, list_checks, progress, show
from remuda.conformance.runner import Outcome, Result

FAILURE = Failure(
    rule="SI-33",
    expected="new allocation {a: 1}\nor new allocation {b: 1}",
    came=("rejected ask {reason: 'x'}", "esc \x1b[31m <&>"),
    sent=("UpdateAllocation {asks: [...]}",),
)


def results() -> list[Result]:
    first, second, third = choose(["asks.several", "asks.priority", "recovery.same-end"], None)
    return [
        Result(first, Outcome.FAILED, 5.0, FAILURE),
        Result(second, Outcome.PASSED, 0.25),
        Result(third, Outcome.NOT_APPLICABLE, 0.0, why="no --rest was given"),
    ]


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    """An address that nobody is asked at."""
    made = Endpoint("::1", 9079)
    yield made
    made.close()


class Terminal(io.StringIO):
    """A text stream that says it is a terminal."""

    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


def test_a_failure_tells_the_whole_story(endpoint: Endpoint) -> None:
    out = io.StringIO()
    show(results(), endpoint, 5.5, out)
    assert out.getvalue() == (
        "[::1]:9079 serves si.v1.Scheduler; no REST address given\n"
        "\n"
        "Asks  asks.*\n"
        "  FAIL  several   an ask yields as many allocations as it says  [SI-32]\n"
        "        rule      SI-33\n"
        "        sent      UpdateAllocation {asks: [...]}\n"
        "        expected  new allocation {a: 1}\n"
        "                  or new allocation {b: 1}\n"
        "        came      rejected ask {reason: 'x'}\n"
        "                  esc \N{REPLACEMENT CHARACTER}[31m <&>\n"
        "  ok    priority  of an application the ask of highest priority goes first  [SI-32]\n"
        "\n"
        "Sequences and recovery  recovery.*\n"
        "  n/a   same-end  both ways of recovery end with the same totals of queues and nodes "
        "(no --rest was given)  [REC-3 needs rest]\n"
        "\n"
        "3 checks in 5.5 s: 1 passed, 1 failed, 1 not applicable\n"
        "failed: asks.several\n"
        "one of them again: remuda conformance ... --only asks.several\n"
    )


def test_on_a_terminal_lines_are_wrapped_below_themselves(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "42")
    monkeypatch.setenv("NO_COLOR", "1")
    out = Terminal()
    show(results()[:1], endpoint, 5.5, out)
    lines = out.getvalue().splitlines()
    assert lines[3:6] == [
        "  FAIL  several  an ask yields as many",
        "                 allocations as it says",
        "                 [SI-32]",
    ]
    assert max(len(line) for line in lines[2 : lines.index("", 2)]) <= 42


def test_colours_only_where_they_may_be(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    out = Terminal()
    show(results(), endpoint, 5.5, out)
    assert "\x1b[1;31mFAIL\x1b[0m" in out.getvalue()
    for name, value in (("NO_COLOR", "1"), ("TERM", "dumb")):
        with monkeypatch.context() as changed:
            changed.setenv(name, value)
            plain = Terminal()
            show(results(), endpoint, 5.5, plain)
            assert "\x1b" not in plain.getvalue()


def test_what_an_encoding_lacks_is_escaped() -> None:
    raw = io.BytesIO()
    out = io.TextIOWrapper(raw, encoding="ascii")
    Paper(out).line("\N{HORSE}")
    out.flush()
    assert raw.getvalue() == b"\\U0001f40e\n"


def test_the_list_says_what_a_check_needs() -> None:
    out = io.StringIO()
    list_checks(choose(["registration.unregister", "recovery.same-end"], None), out)
    assert "[RM-19 remuda needs extension]" in out.getvalue()
    assert out.getvalue().endswith("\n2 checks\n")


def test_json_has_everything(endpoint: Endpoint) -> None:
    report = json.loads(as_json(results(), endpoint, 5.5))
    checks = report.pop("checks")
    assert report == {
        "address": "[::1]:9079",
        "rest": "",
        "core_version": "",
        "si_level": "",
        "seconds": 5.5,
        "passed": 1,
        "failed": 1,
        "not_applicable": 1,
    }
    assert checks[0] == {
        "name": "asks.several",
        "title": "an ask yields as many allocations as it says",
        "rules": ["SI-32"],
        "level": "parity",
        "needs": [],
        "outcome": "failed",
        "seconds": 5.0,
        "why": "",
        "failure": {
            "rule": "SI-33",
            "sent": list(FAILURE.sent),
            "expected": FAILURE.expected,
            "came": list(FAILURE.came),
        },
    }
    assert [(check["outcome"], check["why"], check["failure"]) for check in checks[1:]] == [
        ("passed", "", None),
        ("not applicable", "no --rest was given", None),
    ]


def test_junit_is_xml_whatever_came() -> None:
    suite = ET.fromstring(as_junit(results(), 5.5))
    assert {name: suite.get(name) for name in ("tests", "failures", "skipped", "errors")} == {
        "tests": "3",
        "failures": "1",
        "skipped": "1",
        "errors": "0",
    }
    cases = suite.findall("testcase")
    assert [(case.get("classname"), case.get("name")) for case in cases] == [
        ("asks", "several"),
        ("asks", "priority"),
        ("recovery", "same-end"),
    ]
    failure = cases[0].find("failure")
    assert failure is not None
    assert (failure.get("message") or "").startswith("SI-33: expected new allocation {a: 1} or")
    assert "came: esc \N{REPLACEMENT CHARACTER}[31m <&>" in (failure.text or "")
    skipped = cases[2].find("skipped")
    assert skipped is not None
    assert skipped.get("message") == "no --rest was given"


def test_progress_is_for_terminals(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    silent, seen = io.StringIO(), Terminal()
    for stream in (silent, seen):
        with progress(3, stream) as told:
            for result in results():
                told(result)
    assert silent.getvalue() == ""
    assert "1 failed" in seen.getvalue()
