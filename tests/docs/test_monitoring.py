"""Dashboard, alerts and the pages they point to agree about names."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from remuda.runtime.roster import RmState
from remuda.telemetry.audit.records import DEEDS
from tests.docs.test_links import anchors

ROOT = Path(__file__).resolve().parents[2]
DASHBOARD = ROOT / "deploy/grafana/remuda.json"
ALERTS = ROOT / "deploy/prometheus/remuda-alerts.yaml"
UNIT = ROOT / "deploy/systemd/remuda.service"
METRICS = ROOT / "docs/reference/metrics.md"
ROUTES = ROOT / "docs/reference/rest-api.md"
OPENAPI = ROOT / "docs/spec/openapi.yaml"

# Of Prometheus itself.
OTHERS = {"up"}

# Words of the query language that stand where a metric could.
WORDS = {"and", "or", "unless", "offset", "bool", "by", "on", "ignoring", "without", "Inf", "NaN"}


def metric_names(query: str) -> set[str]:
    """The metrics of a query: its words but for functions, labels and keywords."""
    text = re.sub(r'"[^"]*"', "", query)
    text = re.sub(r"\{[^}]*\}|\[[^\]]*\]", " ", text)
    text = re.sub(r"\b(by|on|ignoring|without|group_left|group_right)\s*\([^)]*\)", " ", text)
    words = re.findall(r"(?<![\w:$.])[a-zA-Z_:][\w:]*(?!\w*\s*\()", text)
    return {word for word in words if word not in WORDS}


def documented() -> list[re.Pattern[str]]:
    """What the page says there is, as patterns; a histogram has three kinds of samples."""
    cells = re.findall(r"^\| (`(?:yunikorn|process)_[^|]+?) \|", METRICS.read_text(), re.MULTILINE)
    names = [name for cell in cells for name in re.findall(r"`([^`]+)`", cell)]
    assert len(names) > 30
    found = []
    for name in names:
        pattern = re.sub(r"<\w+>", "[a-zA-Z0-9_:]+", name)
        if name.endswith(("_seconds", "_milliseconds")):
            pattern += "(_bucket|_sum|_count)?"
        found.append(re.compile(pattern))
    return found


def panels() -> list[dict[str, Any]]:
    """All panels that show something."""
    found: list[dict[str, Any]] = json.loads(DASHBOARD.read_text())["panels"]
    return [panel for panel in found if panel["type"] != "row"]


def dashboard_queries() -> Iterator[str]:
    """The queries of all panels, and those that fill the choices."""
    for panel in panels():
        for target in panel["targets"]:
            yield target["expr"]
    for variable in json.loads(DASHBOARD.read_text())["templating"]["list"]:
        found = re.fullmatch(r"label_values\((.+), \w+\)", variable.get("definition", ""))
        if found:
            yield found[1]


def alerts() -> list[dict[str, Any]]:
    """All alert rules."""
    groups = yaml.safe_load(ALERTS.read_text())["groups"]
    return [rule for group in groups for rule in group["rules"]]


def all_names() -> set[str]:
    """The metrics that dashboard and alerts name."""
    queries = [*dashboard_queries(), *[rule["expr"] for rule in alerts()]]
    return set().union(*[metric_names(query) for query in queries]) - OTHERS


def test_words_of_queries_are_told_apart() -> None:
    query = 'sum by (le, a) (rate(x_total{b="c"}[5m])) > 0.1 * on (d) y:z offset 15m unless up == 1'
    assert metric_names(query) == {"x_total", "y:z", "up"}


def test_dashboard_and_alerts_name_documented_metrics_only() -> None:
    known = documented()
    names = all_names()
    assert len(names) > 20
    unknown = sorted(name for name in names if not any(each.fullmatch(name) for each in known))
    assert unknown == []


def test_every_panel_says_what_it_shows_and_has_its_place() -> None:
    numbers = [panel["id"] for panel in panels()]
    assert len(numbers) == len(set(numbers))
    places = [tuple(panel["gridPos"][key] for key in "xy") for panel in panels()]
    assert len(places) == len(set(places))
    for panel in panels():
        assert panel["title"]
        assert panel["targets"]
        assert panel["fieldConfig"]["defaults"]["unit"]


@pytest.mark.parametrize("rule", alerts(), ids=lambda rule: str(rule["alert"]))
def test_an_alert_says_how_bad_it_is_and_what_to_do(rule: dict[str, Any]) -> None:
    assert rule["labels"]["severity"] in ("page", "ticket")
    assert rule["annotations"]["summary"]
    assert rule["annotations"]["description"]
    page, _, fragment = rule["annotations"]["runbook"].partition("#")
    assert fragment == rule["alert"].lower()
    assert fragment in anchors(ROOT / page)


# What has to be noticed, as the metrics that tell it.
WATCHED = {
    "resource managers": ("yunikorn_scheduler_resource_managers",),
    "limits": ("yunikorn_scheduler_limit_hits_total",),
    "faults": ("yunikorn_scheduler_faults_total", "yunikorn_scheduler_kept_out"),
    "descriptors": (
        *("process_open_fds", "process_max_fds"),
        "yunikorn_scheduler_descriptor_shortage_seconds_total",
    ),
    "memory": ("yunikorn_runtime_py_resident_memory_bytes",),
    "configurations and callers": ("yunikorn_audit_records_total",),
    "recordings": ("yunikorn_recording_broken",),
    "audit log": ("yunikorn_audit_broken", "yunikorn_audit_lost_records_total"),
}


@pytest.mark.parametrize("metrics", WATCHED.values(), ids=WATCHED)
def test_what_has_to_be_noticed_is_shown_and_has_an_alert(metrics: tuple[str, ...]) -> None:
    shown = set().union(*map(metric_names, dashboard_queries()))
    alerted = set().union(*[metric_names(rule["expr"]) for rule in alerts()])
    assert set(metrics) <= shown & alerted


def labels_of(query: str, metric: str) -> Iterator[tuple[str, str]]:
    """The labels that a query chooses of a metric; a choice of several as several."""
    for braces in re.findall(metric + r"\{([^}]*)\}", query):
        for label, values in re.findall(r'(\w+)=~?"([^"]*)"', braces):
            yield from ((label, value) for value in values.split("|"))


def test_alerts_choose_labels_that_exist() -> None:
    queries = [rule["expr"] for rule in alerts()]
    states = {
        value
        for query in queries
        for label, value in labels_of(query, "yunikorn_scheduler_resource_managers")
    }
    assert states
    assert states <= {state.value.lower() for state in RmState}
    deeds = {
        value
        for query in queries
        for label, value in labels_of(query, "yunikorn_audit_records_total")
        if label == "what"
    }
    assert len(deeds) > 3
    assert deeds <= set(DEEDS)


def test_the_alert_about_memory_comes_before_the_limit_of_the_unit() -> None:
    gib = re.search(r"^MemoryMax=(\d+)G$", UNIT.read_text(), re.MULTILINE)
    assert gib
    (rule,) = (rule for rule in alerts() if rule["alert"] == "RemudaNeedsMuchMemory")
    assert int(rule["expr"].rpartition(">")[2]) == int(gib[1]) * 1024**3 * 3 // 4


@pytest.mark.parametrize("rule", alerts(), ids=lambda rule: str(rule["alert"]))
def test_the_brackets_of_an_alert_match(rule: dict[str, Any]) -> None:
    rest = re.sub(r'"[^"]*"|[^()\[\]{}]', "", rule["expr"])
    while rest != (rest := re.sub(r"\(\)|\[\]|\{\}", "", rest)):
        pass
    assert rest == ""


def test_the_page_of_routes_has_all_of_the_document() -> None:
    shown = re.findall(r"`(?:GET|POST) ([^`]+)`", ROUTES.read_text())
    full = [re.sub(r"^P/", "/ws/v1/partition/{partition}/", route) for route in shown]
    assert len(full) == len(set(full))
    missing = set(yaml.safe_load(OPENAPI.read_text())["paths"]) - set(full)
    assert sorted(missing) == []


def test_rules_of_the_page_of_routes_exist() -> None:
    chapters = "".join(page.read_text() for page in (ROOT / "docs/spec").glob("9*.md"))
    cited = set(re.findall(r"\b(?:REST|EVT|MET|HLT|DMP)-\d+\b", ROUTES.read_text()))
    assert sorted(rule for rule in cited if f"**{rule}**" not in chapters) == []
