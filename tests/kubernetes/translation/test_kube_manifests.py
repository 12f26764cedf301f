"""Manifests that other people wrote, for several schedulers: read as their authors meant them.

What is expected is read from the files with a plain YAML reader, by rules written here, or is
written out here after reading the file. The manifests are not part of the project: REMUDA_DATA
names the directory that has them, else ../shared/data beside the checkout is tried.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from remuda.edges.inproc import InProcessScheduler
from remuda.si.pb import si_pb2 as si
from remuda_kubernetes.objects.cluster import ConfigMap, PriorityClass
from remuda_kubernetes.objects.pods import Pod
from remuda_kubernetes.objects.values import ObjectError, convert
from remuda_kubernetes.translation import events, requests
from remuda_kubernetes.translation.applications import application_of
from remuda_kubernetes.translation.configuration import first_configuration
from remuda_kubernetes.translation.metadata import task_of
from remuda_kubernetes.translation.placeholders import missing_placeholders
from remuda_kubernetes.translation.selection import Side, side_of

ROOT = Path(__file__).resolve().parents[3]
DATA = Path(os.environ.get("REMUDA_DATA") or ROOT.parent / "shared" / "data")
MANIFESTS = DATA / "k8s-manifests"

pytestmark = pytest.mark.skipif(
    not MANIFESTS.is_dir(), reason=f"no manifests in {MANIFESTS}; REMUDA_DATA may name {DATA.name}"
)

SHIM = "yk-k8shim"
DOMAIN = "yunikorn.apache.org/"
GROUPS = DOMAIN + "task-groups"


def text(name: str) -> str:
    return (MANIFESTS / name).read_text()


def documents(name: str) -> list[Any]:
    return [each for each in yaml.safe_load_all(text(name)) if each is not None]


def templates(value: Any) -> Iterator[dict[str, Any]]:
    """Give everything that looks like a pod or a template of one, wherever it stands."""
    if isinstance(value, dict):
        spec = value.get("spec")
        if isinstance(spec, dict) and ("containers" in spec or value.get("kind") == "Pod"):
            yield value
            return
        for each in value.values():
            yield from templates(each)
    elif isinstance(value, list):
        for each in value:
            yield from templates(each)


def all_templates() -> Iterator[tuple[str, dict[str, Any]]]:
    for path in sorted(MANIFESTS.rglob("*.y*ml")):
        name = str(path.relative_to(MANIFESTS))
        try:
            found = documents(name)
        except yaml.YAMLError:
            continue  # A template of a program, no YAML.
        for each in templates(found):
            yield name, each


def as_pod(template: dict[str, Any]) -> Pod:
    """Make the pod that a controller would make; the server fills in the uid."""
    metadata = {"namespace": "default", **(template.get("metadata") or {}), "uid": "uid-1"}
    return convert(Pod, {**template, "metadata": metadata})


def test_every_pod_of_every_author_is_read_or_refused_by_its_field() -> None:
    refused = {}
    ours = others = 0
    for name, template in all_templates():
        try:
            pod = as_pod(template)
        except ObjectError as error:
            refused[name] = str(error)
            continue
        mine = template["spec"].get("schedulerName") == "yunikorn"
        assert side_of(pod, ("yunikorn",)) is (Side.OURS if mine else Side.NOTHING), name
        ours += mine
        others += not mine
    # Annotations must be texts; the API server refuses this file, too.
    (name,) = [each for each in refused if each.startswith(SHIM)]
    assert name.endswith("spark__driver.yaml")
    assert "Expected `str`, got `int` - at `$.metadata.annotations" in refused[name]
    assert ours >= 90
    assert others >= 50


def test_every_pod_for_this_scheduler_has_the_application_and_queue_its_author_wrote() -> None:
    seen: set[tuple[str, str]] = set()
    for name, template in all_templates():
        if template["spec"].get("schedulerName") != "yunikorn":
            continue
        try:
            pod = as_pod(template)
        except ObjectError:
            continue
        metadata = template.get("metadata") or {}
        labels = metadata.get("labels") or {}
        annotations = metadata.get("annotations") or {}
        namespace = metadata.get("namespace", "default")
        wanted = labels.get("applicationId") or labels.get("spark-app-selector")
        task = task_of(pod, {})
        assert task.application_id == (wanted or f"yunikorn-{namespace}-autogen"), name
        assert task.queue == (annotations.get(DOMAIN + "queue") or labels.get("queue") or ""), name
        assert task.findings == (), name
        application = application_of(pod, task.application_id)
        assert application.findings == (), name
        who = annotations.get(DOMAIN + "user.info")
        record = json.loads(who) if who else {"user": labels.get(DOMAIN + "username", "nobody")}
        assert application.user.name == record["user"], name
        assert list(application.user.groups) == record.get("groups", []), name
        seen.add((task.application_id, task.queue))
    # Written out after reading the files.
    assert {
        ("batch-sleep-job-1", "root.sandbox"),
        ("tf_job_20200521_001", "root.sandbox"),
        ("low-priority-job", "root.sandbox.tenants.tenant-low"),
        ("application-namespace-1", ""),
    } <= seen


def test_the_spark_gang_has_the_groups_its_author_wrote() -> None:
    (name,) = [
        str(each.relative_to(MANIFESTS))
        for each in MANIFESTS.rglob("*examples__yunikorn-gang-scheduling.yaml")
    ]
    (document,) = documents(name)
    driver = document["spec"]["driver"]
    executor = document["spec"]["executor"]
    pods = [
        convert(
            Pod,
            {
                "metadata": {
                    "name": role,
                    "namespace": "spark-team-a",
                    "uid": f"uid-{role}",
                    "annotations": part["annotations"],
                    "labels": {
                        "spark-app-selector": "spark-1",
                        "queue": document["spec"]["batchSchedulerOptions"]["queue"],
                    },
                },
                "spec": {"schedulerName": "yunikorn", "containers": [{"name": "c"}]},
            },
        )
        for role, part in (("driver", driver), ("executor", executor))
    ]
    tasks = [task_of(each, {}) for each in pods]
    assert [each.task_group for each in tasks] == ["spark-driver", "spark-executor"]
    assert {each.queue for each in tasks} == {"root.spark.spark-team-a"}
    application = application_of(pods[0], "spark-1")
    assert application.findings == ()
    written = json.loads(driver["annotations"][GROUPS])
    assert [each.name for each in application.groups] == ["spark-driver", "spark-executor"]
    assert [each.min_member for each in application.groups] == [1, 10]
    for group, each in zip(application.groups, written, strict=True):
        assert group.min_resource == each["minResource"]
        assert group.node_selector == each["nodeSelector"]
    # 2 cores and 10 GiB for the driver, 4 cores and 18 GiB for each of 10 executors.
    assert application.placeholder_ask == {
        "vcore": 2_000 + 10 * 4_000,
        "memory": (10 + 10 * 18) * 1024**3,
        "pods": 11,
    }
    made = list(missing_placeholders(application, pods))
    assert len(made) == 11
    assert made[0]["spec"]["nodeSelector"] == written[0]["nodeSelector"]
    assert made[10]["spec"]["containers"][0]["resources"]["limits"] == written[1]["minResource"]


def test_the_benchmark_gang_has_the_group_its_author_wrote() -> None:
    given = text("knavigator/resources__benchmarks__templates__yunikorn__job.yaml")
    for mark, value in (("{{._NAME_}}", "job1"), ("{{.replicas}}", "4"), ("{{.ttl}}", "10s")):
        given = given.replace(mark, value)
    (template,) = templates(yaml.safe_load(given))
    pod = as_pod(template)
    task = task_of(pod, {})
    assert (task.application_id, task.queue) == ("test-job1", "root.sandbox")
    assert task.task_group == "group-job1"
    application = application_of(pod, task.application_id)
    assert application.findings == ()
    (group,) = application.groups
    assert (group.name, group.min_member) == ("group-job1", 4)
    assert application.policy.style == "Hard"
    assert application.placeholder_ask == {
        "vcore": 400,
        "memory": 4 * 250 * 10**6,
        "nvidia.com/gpu": 32,
        "pods": 4,
    }
    placeholders = list(missing_placeholders(application, [pod]))
    assert len(placeholders) == 4
    for field in ("nodeSelector", "tolerations", "affinity"):
        assert field not in placeholders[0]["spec"]


def of_definition(name: str) -> Pod:
    """Make the pod of an Application object, the older way to define groups."""
    (document,) = documents(f"{SHIM}/test__e2e__testdata__app__{name}.yaml")
    annotations = {
        GROUPS: json.dumps(document["spec"]["taskGroups"]),
        DOMAIN + "queue": document["spec"]["queue"],
    }
    metadata = {
        "name": document["metadata"]["name"],
        "namespace": "default",
        "uid": "u",
        "annotations": annotations,
    }
    return convert(Pod, {"metadata": metadata, "spec": {"schedulerName": "yunikorn"}})


def test_a_valid_definition_is_read_as_written() -> None:
    application = application_of(of_definition("application"), "example")
    assert application.findings == ()
    assert application.queue == "root.default"
    (group,) = application.groups
    assert (group.name, group.min_member) == ("test-task-0001", 1)
    assert group.amounts() == {"vcore": 300, "memory": 128 * 1024**2, "pods": 1}
    assert group.node_selector == {"locate": "west"}
    assert list(group.tolerations) == [
        {"key": "key", "operator": "Equal", "value": "value", "effect": "NoSchedule"}
    ]


@pytest.mark.parametrize(
    "name, place, problem, advice",
    [
        ("minmember", "[0].minMember", "'string'", "write a whole number above 0"),
        ("minresource", "[0].minResource.cpu", "'300A'", "write a number such as 4, 500m or 8Gi"),
        ("name", "[0].name", "100 is no name", "write a text"),
        ("nodeselector", "[0].nodeSelector.locate", "1 is no text", "write it in quotes"),
        ("tolerations", "[0].tolerations[0]", "got `int`", "write it as in a pod's spec"),
    ],
)
def test_an_invalid_definition_is_refused_with_an_event_that_says_what_to_do(
    name: str, place: str, problem: str, advice: str
) -> None:
    pod = of_definition(f"application_err_{name}")
    application = application_of(pod, "example")
    assert application.groups == ()
    (event,) = events.metadata_faults(pod, application.findings)
    assert (event.reason, event.type) == ("GangScheduling", "Warning")
    assert event.about.name == f"error-{name}".replace("minresource", "minResource")
    for part in (place, problem, advice, "submit the application again"):
        assert part in event.message
    assert len(event.message) <= 1024


class Rm:
    """Notes why applications are refused."""

    def __init__(self) -> None:
        self.reasons: dict[str, str] = {}

    def update_application(self, response: si.ApplicationResponse) -> None:
        self.reasons |= {each.applicationID: each.reason for each in response.rejected}


def registered(scheduler: InProcessScheduler, queues: str) -> Rm:
    found = Rm()
    scheduler.register_resource_manager(
        si.RegisterResourceManagerRequest(rmID="rm", config=queues), found
    )
    return found


PROVIDED = """
partitions:
- name: default
  placementrules: [{name: provided}]
  queues:
  - name: root
    submitacl: '*'
    queues: [{name: work}]
"""


def test_a_queue_that_cannot_be_is_refused_with_an_event_that_says_what_to_do() -> None:
    pod = of_definition("application_err_queue")
    application = application_of(pod, "example")
    with InProcessScheduler() as scheduler:
        rm = registered(scheduler, PROVIDED)
        new = requests.new_application(application)
        scheduler.update_application(requests.application_request("rm", [new]))
        scheduler.wait_idle()
        reason = rm.reasons["example"]
    event = events.application_rejected(pod, "example", reason, application.queue)
    assert event.reason == "ApplicationRejected"
    assert "queue '//////'" in event.message
    assert reason in event.message
    assert "correct its queue" in event.message


def config_maps() -> Iterator[tuple[str, dict[str, str]]]:
    """Give the data of all ConfigMaps of the scheduler, also where they stand in other files."""
    for path in sorted(MANIFESTS.rglob("*.y*ml")):
        name = str(path.relative_to(MANIFESTS))
        if "yunikorn" not in path.read_text() and not name.startswith(SHIM):
            continue
        try:
            found = documents(name)
        except yaml.YAMLError:
            continue
        for each in _maps(found):
            yield name, each


def _maps(value: Any) -> Iterator[dict[str, str]]:
    if isinstance(value, dict):
        if isinstance(value.get("queues.yaml"), str):
            yield value
            return
        for each in value.values():
            yield from _maps(each)
    elif isinstance(value, list):
        for each in value:
            yield from _maps(each)


def test_every_configuration_is_read_and_its_queues_are_taken_by_the_scheduler() -> None:
    names = []
    with InProcessScheduler() as scheduler:
        for name, data in config_maps():
            found = first_configuration(
                None, convert(ConfigMap, {"metadata": {"name": "yunikorn-configs"}, "data": data})
            )
            assert found.findings == (), name
            assert found.settings.queues == data["queues.yaml"], name
            registered(scheduler, found.settings.queues)
            names.append(name)
    assert len(names) >= 13


def test_the_settings_of_a_helm_file_are_what_its_author_wrote() -> None:
    (data,) = [each for name, each in config_maps() if "celeborn" in name]
    found = first_configuration(
        None, convert(ConfigMap, {"metadata": {"name": "yunikorn-defaults"}, "data": data})
    )
    assert found.findings == ()
    assert found.settings.volume_bind_timeout_ns == 60 * 10**9
    assert found.settings.placeholder_image == "registry.k8s.io/pause:3.7"
    assert found.settings.admission.bypass_namespaces == ("^kube-system$",)
    tree = yaml.safe_load(found.settings.queues)
    assert tree == yaml.safe_load(data["queues.yaml"])


def test_a_priority_class_lets_its_pods_be_preempted_as_its_author_wrote() -> None:
    name = f"{SHIM}/deployments__examples__preemption__normal-priority-job-with-9999-priority-class"
    chosen, job = documents(name + ".yaml")
    (template,) = templates(job)
    read = convert(PriorityClass, chosen)
    task = task_of(as_pod(template), {chosen["metadata"]["name"]: read})
    assert task.preemptable
    assert (read.name, read.value) == (chosen["metadata"]["name"], 9999)
