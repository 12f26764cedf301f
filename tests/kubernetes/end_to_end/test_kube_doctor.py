"""`remuda kubernetes doctor` finds each thing that is wrong, and changes nothing."""

from __future__ import annotations

import base64
import json
import time
from typing import Any

import pytest

from remuda_kubernetes.doctor.run import Options, examine
from remuda_kubernetes.testing.real import RealServer
from tests.kubernetes.end_to_end import sound
from tests.kubernetes.end_to_end.calls import Api
from tests.kubernetes.end_to_end.manifests import GROUPS, pod_manifest
from tests.kubernetes.end_to_end.servers import Server

Told = dict[str, Any]
BATCH = "root.batch"


def told(server: Server, **options: Any) -> list[Told]:
    """All findings of a look at the cluster."""
    chosen = Options(kubeconfig=server.kubeconfig, namespace=sound.SPACE, json=True, **options)
    text, errors = examine(chosen)
    found: list[Told] = json.loads(text)["findings"]
    assert errors is any(each["severity"] == "error" for each in found)
    return found


def about(found: list[Told], word: str) -> Told:
    """The only finding whose problem has a word."""
    (one,) = [each for each in found if word in each["problem"]]
    return one


def bad(found: list[Told]) -> list[Told]:
    """The findings that are worse than a note."""
    return [each for each in found if each["severity"] != "note"]


def configure(api: Api, data: dict[str, str]) -> None:
    """Put entries into the ConfigMap."""
    api.merge(f"{sound.MAPS}/yunikorn-configs", {"data": data})


@pytest.fixture
def installed(server: Server, api: Api) -> Server:
    """A server with a sound installation."""
    sound.install(api)
    return server


@pytest.mark.remuda_rule("EXT-150")
def test_a_sound_installation_has_nothing_worse_than_notes(installed: Server, api: Api) -> None:
    api.create(sound.PODS, pod_manifest("p", queue=BATCH, app="a"))
    assert bad(told(installed)) == []


def test_without_an_installation_it_says_so_and_that_built_in_queues_count(
    server: Server,
) -> None:
    found = told(server)
    assert bad(found) == []
    assert about(found, "no Deployment of Remuda")["severity"] == "note"
    assert about(found, "built-in queues")["object"] == "ConfigMap yunikorn/yunikorn-configs"


@pytest.mark.remuda_rule("EXT-150")
def test_a_real_server_is_of_a_release_that_is_tested(server: Server) -> None:
    releases = [each for each in told(server) if each["object"].startswith("API server ")]
    assert len(releases) == (not isinstance(server, RealServer))


# ------------------------------------------------------------------ configuration


@pytest.mark.remuda_rule("EXT-153")
def test_all_faults_of_the_configuration_are_told_at_once(installed: Server, api: Api) -> None:
    configure(
        api,
        {
            "queues.yaml": "partitions:\n  - name: default\n    queues:\n      - nam: root\n",
            "service.dispatchTimeout": "soon",
            "kubernetes.qps": "many",
            "service.volumeBindTimout": "1m",
            "other.yaml": "partitions: []",
            "colour": "red",
            "service.workloads": "job",
        },
    )
    found = told(installed)
    assert about(found, "queues.yaml:4:")["severity"] == "error"
    assert about(found, "dispatchTimeout: 'soon'")["severity"] == "error"
    assert about(found, "kubernetes.qps")["severity"] == "error"
    misspelt = about(found, "volumeBindTimout")
    assert misspelt["severity"] == "warning"
    assert "service.volumeBindTimeout" in misspelt["advice"]
    assert about(found, "the queue file 'other.yaml'")["severity"] == "warning"
    assert about(found, "the key 'colour'")["severity"] == "warning"
    assert about(found, "service.workloads is a key of Remuda only")["severity"] == "note"
    assert about(found, "dispatchTimeout is checked and has no effect")["severity"] == "note"


# ------------------------------------------------------------------ installation

REFERENCE = sound.deployment(
    "yunikorn-scheduler", image="apache/yunikorn:scheduler-1.5.1", space="default"
)


@pytest.mark.remuda_rule("EXT-154")
def test_two_schedulers_of_one_name_are_an_error(installed: Server, api: Api) -> None:
    api.create("/apis/apps/v1/namespaces/default/deployments", REFERENCE)
    one = about(told(installed), "both bind the same pods")
    assert one["severity"] == "error"
    assert one["object"] == "Deployment default/yunikorn-scheduler"
    configure(api, {"service.schedulerNames": "batch"})
    assert about(told(installed), "YuniKorn schedules pods")["severity"] == "note"


def test_remuda_in_two_namespaces_and_twice_in_one_is_an_error(installed: Server, api: Api) -> None:
    for space in ("default", sound.SPACE):
        twin = sound.deployment("twin", image="remuda:1", args=["kubernetes"], space=space)
        api.create(f"/apis/apps/v1/namespaces/{space}/deployments", twin)
    found = told(installed)
    assert about(found, "in this namespace and in yunikorn")["severity"] == "error"
    assert about(found, "runs the scheduler, too")["severity"] == "error"
    assert about(found, "names no PriorityClass")["object"] == "Deployment yunikorn/twin"


def test_an_installation_elsewhere_is_named(server: Server, api: Api) -> None:
    away = sound.deployment("remuda", image="remuda:1", args=["kubernetes"], space="default")
    api.create("/apis/apps/v1/namespaces/default/deployments", away)
    assert "runs in default" in about(told(server), "no Deployment of Remuda")["advice"]


def test_replicas_that_do_not_elect_a_leader_are_an_error(installed: Server, api: Api) -> None:
    path = f"{sound.DEPLOYMENTS}/remuda"
    spec = api.get(path)["spec"]["template"]["spec"]
    container = {**spec["containers"][0], "args": ["kubernetes"]}
    api.merge(path, {"spec": {"template": {"spec": {"containers": [container]}}}})
    assert about(told(installed), "without --leader-elect")["severity"] == "error"


def test_a_lease_that_nobody_renews_is_told(installed: Server, api: Api) -> None:
    sound.hold(api, time.time() - 3600)
    assert about(told(installed), "no replica holds it")["severity"] == "warning"


def test_replicas_that_are_not_ready_and_none_at_all_are_told(installed: Server, api: Api) -> None:
    sound.made_ready(api, "remuda", 0)
    api.merge(f"{sound.DEPLOYMENTS}/remuda-admission", {"spec": {"replicas": 0}})
    found = told(installed)
    assert about(found, "none of 2 replicas is ready")["object"] == "Deployment yunikorn/remuda"
    assert about(found, "it has 0 replicas")["object"] == "Deployment yunikorn/remuda-admission"


def test_a_priority_class_that_is_not_there_is_an_error(installed: Server, api: Api) -> None:
    api.delete("/apis/scheduling.k8s.io/v1/priorityclasses/remuda")
    found = about(told(installed), "no PriorityClass remuda")
    assert (found["severity"], found["more"]) == ("error", 1)


# ------------------------------------------------------------------ webhooks


def hooks(api: Api, **change: Any) -> None:
    """Change all mutating webhooks of the installation."""
    path = f"{sound.MUTATING}/remuda-admission"
    found = api.get(path)
    for each in found["webhooks"]:
        for name, value in change.items():
            each[name] = {**each[name], **value} if isinstance(value, dict) else value
    api.replace(path, found)


@pytest.mark.remuda_rule("EXT-154")
def test_a_webhook_whose_service_is_not_there_is_an_error(installed: Server, api: Api) -> None:
    api.delete(f"/api/v1/namespaces/{sound.SPACE}/services/{sound.SERVICE}")
    found = about(told(installed), "which does not exist, so objects are stored unchecked")
    assert found["severity"] == "error"
    assert found["more"] == 2


def test_a_bundle_that_is_empty_expired_or_no_certificate_is_an_error(
    installed: Server, api: Api
) -> None:
    path = f"{sound.MUTATING}/remuda-admission"
    for content, word in (
        (sound.bundle(days_ago=100), "expired on"),
        (sound.bundle(days_ago=87), "expires on"),
    ):
        hooks(api, clientConfig={"caBundle": base64.b64encode(content).decode()})
        assert word in about(told(installed), "caBundle")["problem"]
    found = api.get(path)
    for each in found["webhooks"]:
        del each["clientConfig"]["caBundle"]
    api.replace(path, found)
    assert about(told(installed), "caBundle is empty")["severity"] == "error"


def test_a_webhook_that_refuses_pods_of_its_own_namespace_is_an_error(
    installed: Server, api: Api
) -> None:
    hooks(api, failurePolicy="Fail")
    assert bad(told(installed)) == []
    found = api.get(f"{sound.MUTATING}/remuda-admission")
    for each in found["webhooks"]:
        each["namespaceSelector"] = {}
    api.replace(f"{sound.MUTATING}/remuda-admission", found)
    one = about(told(installed), "failurePolicy is Fail")
    # As it says: nothing of the namespace can be changed any more, by other tests neither.
    api.delete(f"{sound.MUTATING}/remuda-admission")
    assert one["severity"] == "error"
    assert "kube-system and yunikorn" in one["problem"]


def test_webhooks_of_both_and_of_none_are_told(installed: Server, api: Api) -> None:
    ours = api.get(f"{sound.MUTATING}/remuda-admission")
    theirs = {**ours, "metadata": {"name": "yunikorn-admission-controller-mutations"}}
    api.create(sound.MUTATING, theirs)
    assert about(told(installed), "both change the same pods")["severity"] == "error"
    for name in ("remuda-admission", "yunikorn-admission-controller-mutations"):
        api.delete(f"{sound.MUTATING}/{name}")
    assert about(told(installed), "no webhook configuration of it")["severity"] == "warning"


# ------------------------------------------------------------------ pods


def placed(api: Api, name: str, **how: Any) -> None:
    """Create a pod in the default namespace."""
    api.create(sound.PODS, pod_manifest(name, **{"queue": BATCH, "app": "a", **how}))


@pytest.mark.remuda_rule("EXT-155")
def test_pods_that_are_not_what_their_authors_expect_are_told(installed: Server, api: Api) -> None:
    placed(api, "good")
    placed(api, "gang", annotations={GROUPS: "[{"})
    placed(
        api,
        "field",
        annotations={
            GROUPS: '[{"name": "g", "minMember": 1, "minResource": {"cpu": "1"}, "colour": 1}]'
        },
    )
    placed(
        api,
        "style",
        annotations={"yunikorn.apache.org/schedulingPolicyParameters": "gangSchedulingStyle=Loose"},
    )
    placed(api, "nobody", scheduler="volcano")
    placed(api, "alone", app="")
    for name, queue in (
        ("missing", "root.blue"),
        ("parent", "root.teams"),
        ("below", "root.batch.x"),
        ("short", "batch"),
    ):
        placed(api, name, queue=queue)
    found = told(installed)
    where = {each["object"]: each for each in found if each["area"] == "pods"}
    assert where["Pod default/gang"]["severity"] == "error"
    assert where["Pod default/field"]["severity"] == "warning"
    assert "colour" in where["Pod default/field"]["problem"]
    assert "Loose" in where["Pod default/style"]["problem"]
    assert "'volcano'" in where["Pod default/nobody"]["problem"]
    assert "names no application" in where["Pod default/alone"]["problem"]
    assert "does not exist" in where["Pod default/missing"]["problem"]
    assert "has queues below it" in where["Pod default/parent"]["problem"]
    assert "below a leaf" in where["Pod default/below"]["problem"]
    assert {"Pod default/good", "Pod default/short"} & set(where) == set()


def test_a_queue_is_no_fault_where_it_is_made_or_other_rules_choose(
    installed: Server, api: Api
) -> None:
    placed(api, "p", queue="root.blue")
    making = sound.QUEUES.replace("- name: provided", "- name: provided\n        create: true")
    configure(api, {"queues.yaml": making})
    assert [each for each in told(installed) if each["area"] == "pods"] == []
    other = sound.QUEUES.replace("- name: provided", "- name: user\n        create: true")
    configure(api, {"queues.yaml": other})
    assert about(told(installed), "other rules choose it")["severity"] == "note"


def test_equal_findings_are_one_and_pods_beyond_the_bound_are_left_out(
    installed: Server, api: Api
) -> None:
    for number in range(5):
        placed(api, f"p{number}", queue="root.blue")
    one = about(told(installed), "does not exist")
    assert (one["object"], one["more"]) == ("Pod default/p0", 4)
    found = told(installed, pods=3)
    assert about(found, "only the first 3 pods")["severity"] == "note"
    assert about(found, "does not exist")["more"] == 2
