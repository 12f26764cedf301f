"""What installs remuda in a cluster: the chart, the manifests and the image say the same."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from typer.core import TyperGroup

from remuda.base.errors import UsageError
from remuda.cli.program import loaded, run
from remuda_kubernetes.packaging.objects import included
from remuda_kubernetes.packaging.text import yaml_text
from remuda_kubernetes.packaging.values import Switch, Values, checked_namespace, read_values
from tests.kubernetes.packaging.templates import rendered

ROOT = Path(__file__).resolve().parents[3]
CHART = ROOT / "deploy/helm/remuda"
JOB = re.compile(r"job=\"([^\"]+)\"")
BASE = ROOT / "deploy/kubernetes"
CONTAINERFILE = (ROOT / "deploy/container/Containerfile").read_text()

TEXT = st.text(st.characters(codec="ascii", exclude_categories=["Cc"]), max_size=20)
SWITCH = st.fixed_dictionaries({"enabled": st.booleans()})
RESOURCES = st.dictionaries(
    st.sampled_from(["requests", "limits"]),
    st.dictionaries(st.sampled_from(["cpu", "memory"]), st.sampled_from(["1", "2Gi", "500m"])),
)
VALUES = st.fixed_dictionaries(
    {},
    optional={
        "image": TEXT.filter(bool),
        "imagePullPolicy": st.sampled_from(["Always", "IfNotPresent", "Never"]),
        "configs": st.dictionaries(st.sampled_from(["queues.yaml", "log.level"]), TEXT),
        "priorityClass": st.integers(0, 10**9),
        "networkPolicy": SWITCH,
        "serviceMonitor": SWITCH,
        "workloads": SWITCH,
        "scheduler": st.fixed_dictionaries(
            {
                "replicas": st.integers(1, 9),
                "resources": RESOURCES,
                "nodeSelector": st.dictionaries(st.sampled_from(["disk", "zone"]), TEXT),
                "tolerations": st.lists(st.fixed_dictionaries({"key": TEXT}), max_size=2),
            }
        ),
        "admission": st.fixed_dictionaries(
            {
                "enabled": st.booleans(),
                "replicas": st.integers(1, 9),
                "failurePolicy": st.sampled_from(["ignore", "fail"]),
            }
        ),
    },
)


def of_chart(values: Values, namespace: str) -> list[dict[str, Any]]:
    """The objects of the chart, by kind and name."""
    settings = msgspec.to_builtins(values)
    found = [
        each
        for template in sorted((CHART / "templates").glob("*.yaml"))
        for each in rendered(template.read_text(), settings, namespace, CHART)
    ]
    return in_order(found)


def in_order(objects: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(objects, key=lambda each: (each["kind"], each["metadata"]["name"]))


@given(VALUES)
def test_the_chart_has_the_objects_that_the_command_prints(chosen: dict[str, Any]) -> None:
    values = msgspec.convert(chosen, Values)
    assert of_chart(values, "batch") == in_order(included(values, "batch"))


@given(VALUES)
def test_what_is_printed_is_read_back(chosen: dict[str, Any]) -> None:
    objects = included(msgspec.convert(chosen, Values), "batch")
    assert list(yaml.safe_load_all(yaml_text(objects))) == objects


def test_the_dashboard_is_a_config_map_that_a_side_car_finds() -> None:
    values = Values(dashboards=Switch(enabled=True))
    objects = included(values, "batch")
    assert of_chart(values, "batch") == in_order(objects)
    assert list(yaml.safe_load_all(yaml_text(objects))) == objects
    (found,) = [
        each for each in objects if "grafana_dashboard" in each["metadata"].get("labels", {})
    ]
    assert (found["kind"], found["metadata"]["namespace"]) == ("ConfigMap", "batch")
    ((name, text),) = found["data"].items()
    assert name == "remuda.json"
    assert json.loads(text) == json.loads((ROOT / "deploy/grafana/remuda.json").read_text())


def test_the_alerts_are_rules_of_the_prometheus_operator() -> None:
    values = Values(alerts=Switch(enabled=True))
    objects = included(values, "batch")
    assert of_chart(values, "batch") == in_order(objects)
    assert list(yaml.safe_load_all(yaml_text(objects))) == objects
    (found,) = [each for each in objects if each["kind"] == "PrometheusRule"]
    assert found["metadata"]["namespace"] == "batch"
    alerts = yaml.safe_load((ROOT / "deploy/prometheus/remuda-alerts.yaml").read_text())
    assert found["spec"] == alerts
    # They read the metrics of the job that a ServiceMonitor makes of the service's name.
    jobs = {each for rule in alerts["groups"][0]["rules"] for each in JOB.findall(rule["expr"])}
    (service,) = [
        each
        for each in objects
        if each["kind"] == "Service"
        and each["spec"]["ports"][0]["name"] == "reports"
        and each["metadata"]["labels"]["app.kubernetes.io/name"] == "remuda"
    ]
    assert jobs == {service["metadata"]["name"]}


def test_the_values_of_the_chart_are_the_defaults() -> None:
    assert yaml.safe_load((CHART / "values.yaml").read_text()) == msgspec.to_builtins(Values())


@pytest.mark.parametrize(
    "text,told",
    [
        ("scheduler: {replicas: 0}", "Expected `int` >= 1 - at `$.scheduler.replicas`"),
        ("scheduler: {replica: 1}", "unknown field `replica` - at `$.scheduler`"),
        ("admission: {failurePolicy: maybe}", "at `$.admission.failurePolicy`"),
        ("image: ''", "at `$.image`"),
        ("configs: 4", "Expected `object`, got `int` - at `$.configs`"),
        ("{", "it is no YAML"),
        ("a: &a [1]\nb: *a", "it has an alias"),
        ("\x00", "it is no YAML"),
        ("x" * 2**20 + "y", "it has more than 1048576 bytes"),
        ("[" * 10_000, "it is no YAML"),
    ],
)
def test_wrong_values_are_refused_by_name(text: str, told: str) -> None:
    with pytest.raises(UsageError) as caught:
        read_values(text.encode(), "mine.yaml")
    assert str(caught.value).startswith("mine.yaml: ")
    assert told in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "values,valid",
    [
        ({}, True),
        ({"scheduler": {"replicas": 3}}, True),
        ({"scheduler": {"replicas": 0}}, False),
        ({"sheduler": {}}, False),
        ({"admission": {"failurePolicy": "maybe"}}, False),
    ],
)
def test_the_schema_of_the_chart_finds_wrong_values(values: dict[str, Any], *, valid: bool) -> None:
    schema = json.loads((CHART / "values.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    assert jsonschema.Draft202012Validator(schema).is_valid(values) is valid


@pytest.mark.parametrize("name", ["", "A", "a_b", "-a", "a-", "a" * 64, "a b", "{{ x }}"])
def test_a_namespace_that_is_none_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match="--namespace is"):
        checked_namespace(name)


def test_the_base_has_the_default_installation_and_its_namespace() -> None:
    listed = yaml.safe_load((BASE / "kustomization.yaml").read_text())["resources"]
    found = [each for name in listed for each in yaml.safe_load_all((BASE / name).read_text())]
    (space,) = [each for each in found if each["kind"] == "Namespace"]
    assert space["metadata"]["name"] == "yunikorn"
    found.remove(space)
    assert in_order(found) == in_order(included(Values(), "yunikorn"))


def pods() -> list[dict[str, Any]]:
    """The specs of the pods of an installation."""
    objects = included(Values(), "yunikorn")
    return [each["spec"]["template"]["spec"] for each in objects if each["kind"] == "Deployment"]


@pytest.mark.parametrize("pod", pods(), ids=lambda pod: pod["containers"][0]["name"])
def test_a_pod_may_nothing_and_is_watched(pod: dict[str, Any]) -> None:
    (container,) = pod["containers"]
    assert pod["securityContext"]["runAsNonRoot"]
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert pod["schedulerName"] != "yunikorn"
    ports = {port["name"] for port in container["ports"]}
    for probe in ("livenessProbe", "readinessProbe"):
        assert container[probe]["httpGet"]["port"] in ports
    assert "memory" in container["resources"]["limits"]


@pytest.mark.parametrize("pod", pods(), ids=lambda pod: pod["containers"][0]["name"])
def test_a_pod_runs_a_command_that_there_is(pod: dict[str, Any]) -> None:
    (container,) = pod["containers"]
    name, *arguments = container["args"]
    group = loaded(name)
    assert isinstance(group, TyperGroup)
    command = group.commands[arguments.pop(0)] if arguments[0] in group.commands else group
    known = {text for each in command.params for text in each.opts}
    variables = {each.envvar for each in command.params if getattr(each, "envvar", None)}
    assert {each.partition("=")[0] for each in arguments} <= known
    assert {each["name"] for each in container["env"]} <= variables


def test_selectors_find_the_pods_and_services_their_ports() -> None:
    objects = included(Values(), "yunikorn")
    labels = {}
    for each in objects:
        if each["kind"] == "Deployment":
            template = each["spec"]["template"]
            labels[each["metadata"]["name"]] = template["metadata"]["labels"]
            assert (
                each["spec"]["selector"]["matchLabels"].items()
                <= labels[each["metadata"]["name"]].items()
            )
    for each in objects:
        spec = each.get("spec", {})
        selector = spec.get("selector") or spec.get("podSelector")
        if each["kind"] in ("Service", "PodDisruptionBudget", "NetworkPolicy"):
            wanted = selector.get("matchLabels", selector)
            assert [name for name, found in labels.items() if wanted.items() <= found.items()]


def test_the_command_prints_them_and_tells_what_is_wrong(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "values.yaml"
    file.write_text("admission: {enabled: false}\n")
    assert run(["kubernetes", "manifests", "--values", str(file), "--namespace", "batch"]) == 0
    found = list(yaml.safe_load_all(capsys.readouterr().out))
    values = read_values(file.read_bytes(), "f")
    assert found == included(values, "batch")
    assert {each["metadata"].get("namespace", "batch") for each in found} == {"batch"}
    assert run(["kubernetes", "manifests", "--values", str(tmp_path / "none")]) != 0
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.rstrip().endswith("; name a file with values of the Helm chart")


def test_the_image_runs_as_nobody_and_copies_what_is_there() -> None:
    last = CONTAINERFILE.rpartition("\nFROM ")[2]
    assert re.search(r"^USER (\d+):\1$", last, re.MULTILINE)
    assert "apt-get" not in last
    for line in re.findall(r"^COPY (?!--from)(.+)$", CONTAINERFILE, re.MULTILINE):
        *sources, _ = line.split()
        assert [each for each in sources if not (ROOT / each).exists()] == []
    # Each command is a list of words, so no shell is needed and none reads them.
    for line in re.findall(r"^(?:RUN|ENTRYPOINT|CMD) (.+)$", CONTAINERFILE, re.MULTILINE):
        assert all(isinstance(word, str) for word in json.loads(line))
    (user,) = {pod["securityContext"]["runAsUser"] for pod in pods()}
    assert f"USER {user}:" in last
