"""Whatever stands in labels, annotations and ConfigMaps is read, told or refused in one line.

Also what is read fits the limits of the scheduler interface, beyond which the scheduler refuses the
whole request and with it other people's pods.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remuda.config.schema import built_in
from remuda.si.codec_in import RequestReader, registration
from remuda.si.pb import si_pb2 as si
from remuda_kubernetes.objects.cluster import ConfigMap, Namespace
from remuda_kubernetes.objects.nodes import Node
from remuda_kubernetes.objects.pods import Pod
from remuda_kubernetes.objects.values import ObjectError, convert, read
from remuda_kubernetes.translation import names, requests
from remuda_kubernetes.translation.applications import application_of, disagreements
from remuda_kubernetes.translation.configuration import first_configuration
from remuda_kubernetes.translation.findings import Finding
from remuda_kubernetes.translation.metadata import task_of
from remuda_kubernetes.translation.namespaces import namespace_limits
from remuda_kubernetes.translation.placeholders import missing_placeholders
from remuda_kubernetes.translation.resources import pod_resource
from remuda_kubernetes.translation.settings import KEYS

ANNOTATIONS = [
    value
    for name, value in vars(names).items()
    if name.isupper() and isinstance(value, str) and "yunikorn.apache.org/" in value
]
FIELDS = ["name", "minMember", "minResource", "labels", "nodeSelector", "tolerations", "affinity"]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from([*FIELDS, "cpu", "user", "groups"]) | st.text(), inner)
    ),
    max_leaves=20,
)
TEXTS = st.text() | JSON.map(json.dumps) | st.lists(JSON, min_size=1).map(json.dumps)


def one_line(text: str) -> None:
    assert len(text) < 1_000
    assert "\n" not in text


def told(findings: tuple[Finding, ...]) -> None:
    for each in findings:
        one_line(str(each))


def taken(application: Any, *allocations: Any) -> None:
    """Check that the scheduler can read what is sent; it raises if it cannot."""
    reader = RequestReader("rm", "1.7")
    new = requests.new_application(application)
    reader.applications(requests.application_request("rm", [new]))
    reader.allocations(si.AllocationRequest(rmID="rm", allocations=allocations))


@given(st.dictionaries(st.sampled_from(ANNOTATIONS), TEXTS), st.dictionaries(st.text(), st.text()))
def test_any_annotation_is_read_or_refused_in_one_line(
    annotations: dict[str, str], labels: dict[str, str]
) -> None:
    try:
        pod = convert(
            Pod, {"metadata": {"name": "p", "annotations": annotations, "labels": labels}}
        )
        task = task_of(pod, {})
        limits = namespace_limits(convert(Namespace, {"metadata": {"annotations": annotations}}))
        application = application_of(pod, task.application_id).within(limits)
        found = (
            *task.findings,
            *limits.findings,
            *application.findings,
            *disagreements(application, pod),
        )
        told(found)
        taken(application, requests.ask(task, pod_resource(pod), pod))
    except ObjectError as error:
        one_line(str(error))
        return
    for manifest in list(missing_placeholders(application, [pod]))[:3]:
        assert len(manifest["metadata"]["name"]) <= 63


@given(st.dictionaries(st.sampled_from([key.name for key in KEYS]) | st.text(), st.text()))
def test_any_configuration_is_read_or_told(data: dict[str, str]) -> None:
    found = first_configuration(None, convert(ConfigMap, {"data": data}))
    told(found.findings)


def many(number: int, length: int = 0) -> dict[str, str]:
    return {f"example.com/{number:04}{'x' * length}": "1" for number in range(number)}


@pytest.mark.parametrize("amounts", [many(2_000), many(2, 400), {"": "1"}, {"a\nb": "1"}])
def test_resources_beyond_the_interface_are_refused(amounts: dict[str, str]) -> None:
    container = {"name": "c", "resources": {"requests": amounts}}
    with pytest.raises(ObjectError, match="resource"):
        pod_resource(convert(Pod, {"spec": {"containers": [container]}}))
    with pytest.raises(ObjectError, match="resource"):
        requests.new_node(convert(Node, {"status": {"allocatable": amounts}}))
    groups = json.dumps([{"name": "w", "minMember": 1, "minResource": amounts}])
    pod = convert(Pod, {"metadata": {"annotations": {names.TASK_GROUPS: groups}}})
    application = application_of(pod, "app")
    assert application.groups == ()
    told(application.findings)
    annotations = {names.NAMESPACE_QUOTA: json.dumps(amounts)}
    limits = namespace_limits(convert(Namespace, {"metadata": {"annotations": annotations}}))
    assert limits.quota is None
    told(limits.findings)


def test_resources_of_all_groups_together_have_a_limit() -> None:
    groups = [
        {"name": f"w{number}", "minMember": 1, "minResource": {f"example.com/of-{number}": 1}}
        for number in range(200)
    ]
    groups[0]["minResource"] = many(200)
    pod = convert(Pod, {"metadata": {"annotations": {names.TASK_GROUPS: json.dumps(groups)}}})
    (finding,) = application_of(pod, "app").findings
    assert "399 resources are too many" in str(finding)


def test_a_pod_with_too_much_of_everything_is_still_taken() -> None:
    metadata = {
        "name": "p",
        "labels": {f"l{number:05}": "x" * 63 for number in range(20_000)},
        "annotations": {names.APPLICATION_ID: "a"},
    }
    spec = {
        "imagePullSecrets": [{"name": "s" * 253} for _ in range(5_000)],
        "priority": 2**40,
    }
    pod = convert(Pod, {"metadata": metadata, "spec": spec})
    task = task_of(pod, {})
    assert task.priority == 2**31 - 1
    taken(application_of(pod, "a"), requests.ask(task, pod_resource(pod), pod))


def test_a_configuration_with_too_many_entries_is_refused() -> None:
    data = {f"event.k{number}": "1" for number in range(1_001)}
    found = first_configuration(None, convert(ConfigMap, {"data": data}))
    assert found.refused
    assert "at most 1000" in str(found.findings[0])
    del data["event.k1"]
    settings = first_configuration(None, convert(ConfigMap, {"data": data})).settings
    request = si.RegisterResourceManagerRequest(rmID="rm", extraConfig=dict(settings.extra))
    registration(request, lambda _: built_in())


@pytest.mark.parametrize("text", ['"\\ud800"', '"\\udc00x"'])
def test_half_a_character_never_reaches_a_request(text: str) -> None:
    with pytest.raises(ObjectError):
        read(Pod, b'{"metadata": {"name": ' + text.encode() + b"}}")
