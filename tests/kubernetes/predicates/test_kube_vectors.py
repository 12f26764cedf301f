"""The recorded verdicts of kube-scheduler's own filters, and the command that reads them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from remuda_kubernetes.objects.values import ObjectError
from remuda_kubernetes.predicates.lines import answer
from tests.e2e.serving import environment, run_remuda

DATA = Path(os.environ.get("REMUDA_DATA") or Path(__file__).parents[4] / "shared" / "data")
FILES = sorted((DATA / "kubernetes-filter-vectors").glob("*.jsonl"))

needs_data = pytest.mark.skipif(not FILES, reason=f"no recorded verdicts in {DATA}")


def lines() -> list[bytes]:
    return [line for file in FILES for line in file.read_bytes().splitlines()]


@needs_data
@pytest.mark.parametrize("line", lines(), ids=lambda line: json.loads(line)["id"])
def test_the_verdict_is_the_recorded_one(line: bytes) -> None:
    recorded = json.loads(line)
    found = answer(line)
    assert (found.id, found.verdict) == (recorded["id"], recorded["verdict"])
    # Texts are those of current releases, which differ from the recorded ones for some filters.
    assert bool(found.reasons) is bool(recorded["reasons"])
    if recorded["plugin"] in {"NodePorts", "PodTopologySpread", "NodeUnschedulable"}:
        assert list(found.reasons) == (recorded["reasons"] or [])
    if recorded["plugin"] == "InterPodAffinity":
        # The old release puts a general text before the one that says which terms.
        assert list(found.reasons) == (recorded["reasons"] or [])[1:]


@needs_data
def test_all_recorded_verdicts_are_there() -> None:
    assert len(lines()) == 135


@needs_data
def test_the_command_prints_a_verdict_for_each_line(tmp_path: Path) -> None:
    file = tmp_path / "all.jsonl"
    file.write_bytes(b"\n".join(lines()))
    ended = run_remuda("kubernetes", "predicates", str(file))
    assert (ended.returncode, ended.stderr) == (0, "")
    printed = [json.loads(line) for line in ended.stdout.splitlines()]
    recorded = [json.loads(line) for line in lines()]
    assert [(each["id"], each["verdict"]) for each in printed] == [
        (each["id"], each["verdict"]) for each in recorded
    ]


SIMPLE: dict[str, Any] = {
    "id": 7,
    "pod": {"spec": {"containers": []}},
    "node": {"node": {"metadata": {"name": "n"}, "status": {"allocatable": {"pods": "1"}}}},
}


def simple(**changes: object) -> bytes:
    return json.dumps(SIMPLE | changes).encode()


def test_without_a_plugin_all_filters_judge() -> None:
    assert answer(simple()).verdict == "Success"
    full = SIMPLE["node"] | {"pods": [{"spec": {"containers": []}}]}
    found = answer(simple(node=full))
    assert (found.verdict, found.reasons) == ("Unschedulable", ("Too many pods",))


def test_arguments_configure_the_filters() -> None:
    added = {
        "requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [
                {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["bar"]}]}
            ]
        }
    }
    found = answer(simple(plugin="NodeAffinity", arguments={"addedAffinity": added}))
    assert found.verdict == "UnschedulableAndUnresolvable"
    assert found.reasons == ("node(s) didn't match scheduler-enforced node affinity",)


@pytest.mark.parametrize(
    "arguments",
    [
        {"ignoredResources": ["example.com/a"]},
        {"ignoredResourceGroups": ["example.com"]},
        "&{ignoredResources:map[example.com/a:{}] ignoredResourceGroups:map[]}",
        "&{ignoredResources:map[] ignoredResourceGroups:map[example.com:{}]}",
    ],
)
def test_extended_resources_can_be_ignored(arguments: object) -> None:
    requests = {"requests": {"example.com/a": "1"}}
    pod = {"spec": {"containers": [{"resources": requests}]}}
    refused = answer(simple(plugin="NodeResourcesFit", pod=pod))
    assert refused.reasons == ("Insufficient example.com/a",)
    accepted = answer(simple(plugin="NodeResourcesFit", pod=pod, arguments=arguments))
    assert accepted.verdict == "Success"


@pytest.mark.parametrize(
    "arguments",
    [
        {
            "defaultConstraints": [
                {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}
            ]
        },
        "&{defaultConstraints:[{MaxSkew:1 TopologyKey:zone WhenUnsatisfiable:DoNotSchedule}]}",
    ],
)
def test_default_constraints_count_what_the_services_of_a_pod_choose(arguments: object) -> None:
    def node(name: str, pods: int) -> dict[str, Any]:
        there = [{"metadata": {"labels": {"app": "a"}}, "spec": {}}] * pods
        return {"node": {"metadata": {"name": name, "labels": {"zone": name}}}, "pods": there}

    service = {"kind": "Service", "metadata": {"name": "s"}, "spec": {"selector": {"app": "a"}}}
    line = {
        "plugin": "PodTopologySpread",
        "pod": {"metadata": {"labels": {"app": "a"}}, "spec": {}},
        "node": node("one", 1),
        "cluster": [node("one", 1), node("two", 0)],
        "arguments": arguments,
    }
    assert answer(json.dumps(line).encode()).verdict == "Success"
    found = answer(json.dumps(line | {"objects": [service]}).encode())
    assert found.verdict == "Unschedulable"


@pytest.mark.parametrize(
    "line, said",
    [
        (b"", "the line is empty; write one JSON object a line"),
        (b"nope", "JSON is malformed"),
        (b'{"pod": {}}', "missing required field `node`"),
        (b"\xff{}", "JSON is malformed"),
        (b'{"pod":{},"node":{},"arguments":' + b"[" * 100_000, "nests too many"),
        (simple(plugin="GeneralPredicates"), "there is no filter 'GeneralPredicates'; the filters"),
        (simple(objects=[{"kind": "Deployment"}]), "kind 'Deployment' is none of"),
        (simple(pod={"spec": {"containers": [{"resources": {"requests": {"cpu": "x"}}}]}}), "cpu"),
        (simple(pod={"spec": {"tolerations": [{"effect": 1}]}}), "tolerations"),
        (simple(cluster=[{}, {}]), "two nodes are named ''"),
        (simple(arguments={"ignoredResources": "all"}), "ignoredResources"),
    ],
)
def test_a_bad_line_says_what_is_wrong(line: bytes, said: str) -> None:
    with pytest.raises(ObjectError) as raised:
        answer(line)
    assert said in str(raised.value)
    assert "\n" not in str(raised.value)


def test_the_command_names_bad_lines_and_judges_the_others(tmp_path: Path) -> None:
    file = tmp_path / "questions.jsonl"
    file.write_bytes(b"\n".join((simple(), b"", b"{", simple(id="last"))))
    ended = run_remuda("kubernetes", "predicates", str(file))
    printed = [json.loads(line) for line in ended.stdout.splitlines()]
    assert ended.returncode == 1
    assert [each.get("id") for each in printed] == [7, None, None, "last"]
    assert [each.get("line") for each in printed] == [None, 2, 3, None]
    assert "Traceback" not in ended.stderr


def test_the_command_reads_standard_input() -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "remuda", "kubernetes", "predicates", "-"],
        env=environment(),
        input=simple() + b"\n",
        capture_output=True,
        timeout=60,
        check=True,
    )
    assert json.loads(ended.stdout) == {"id": 7, "verdict": "Success", "reasons": []}


def test_a_missing_file_is_an_error_of_the_call(tmp_path: Path) -> None:
    ended = run_remuda("kubernetes", "predicates", str(tmp_path / "none.jsonl"))
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr.count("\n") == 1
    assert "none.jsonl: No such file or directory" in ended.stderr
