"""The 19 behaviours of admission that Apache YuniKorn shows end to end, one test each.

Expected values are those of its manual and of docs/reference/kubernetes-behaviours.md.
"""

from __future__ import annotations

import pytest

from remuda_kubernetes.admission.policy import Policy
from tests.kubernetes.admission.asking import (
    ALICE,
    ALICES_RECORD,
    APP_ID,
    CONTROLLER,
    OWN,
    PREEMPTION,
    QUEUE,
    USER_INFO,
    Object,
    around,
    ask,
    pod,
    policy,
    record,
    refused,
    stored,
    template,
    user_info,
    workload,
)
from tests.kubernetes.admission.maps import config_map, judged


def preemption(priority_class: str | None, annotations: dict[str, str] | None = None) -> str:
    classes = {} if annotations is None else {priority_class or "": annotations}
    spec: Object = {} if priority_class is None else {"priorityClassName": priority_class}
    found: str = stored(pod(**spec), cluster=around(classes=classes))["metadata"]["annotations"][
        PREEMPTION
    ]
    return found


# ------------------------------------------------------------------------- priority classes


def test_a_pod_whose_priority_class_permits_preemption() -> None:
    assert preemption("may", {PREEMPTION: "true"}) == "true"


def test_a_pod_whose_priority_class_forbids_preemption() -> None:
    assert preemption("may-not", {PREEMPTION: "false"}) == "false"


def test_a_pod_with_a_priority_class_of_others() -> None:
    assert preemption("of-others", {}) == "true"
    assert preemption("unknown") == "true"


def test_a_pod_without_priority_class() -> None:
    assert preemption(None) == "true"


# ------------------------------------------------------------------------- namespaces


def test_a_namespace_that_is_processed() -> None:
    under = policy(filtering__processNamespaces="^team$")
    after = stored(pod(), under=under)
    assert after["spec"]["schedulerName"] == "yunikorn"
    assert after["metadata"]["labels"] == {APP_ID: "yunikorn-team-autogen", QUEUE: "root.default"}


def test_a_namespace_that_is_bypassed() -> None:
    under = policy(filtering__bypassNamespaces="^kube-system$,^other$")
    for namespace in ("kube-system", "other", OWN):
        assert stored(pod(), under=under, namespace=namespace) == pod()
    assert stored(pod(), under=under)["spec"]["schedulerName"] == "yunikorn"


# ------------------------------------------------------------------------- configuration


def test_the_configuration_overrides_the_defaults() -> None:
    defaults = config_map("yunikorn-defaults", **{"log.level": "INFO", "kubernetes.qps": "wrong"})
    changed = config_map("yunikorn-configs", **{"kubernetes.qps": "7"})
    answer = judged(changed, before=[defaults])
    assert answer.allowed
    assert answer.warnings == ()


def test_the_configuration_is_empty() -> None:
    assert judged(config_map("yunikorn-configs")).allowed
    assert judged({"metadata": {"name": "yunikorn-configs", "namespace": OWN}}).allowed


def test_the_configuration_is_invalid() -> None:
    queues = (
        "partitions:\n- name: default\n  queues:\n  - name: root\n    queues:\n    - name: a b\n"
    )
    changed = config_map(
        "yunikorn-configs",
        **{"queues.yaml": queues, "kubernetes.qps": "many", "service.volumeBindTimeout": "-1s"},
    )
    answer = judged(changed)
    assert (answer.allowed, answer.code) == (False, 422)
    assert "1. service.volumeBindTimeout: '-1s' cannot be read; write a duration" in answer.message
    assert "2. kubernetes.qps: 'many' cannot be read; write a whole number" in answer.message
    assert "3. queues.yaml:6:" in answer.message
    assert "CFG-" in answer.message


# ------------------------------------------------------------------------- users


def test_user_info_is_added_to_a_pod_and_cannot_be_changed() -> None:
    after = stored(pod(), user=ALICE)
    assert user_info(after) == ALICES_RECORD
    changed = pod({**after["metadata"]["annotations"], USER_INFO: record("bob")})
    text = refused(changed, old=after, user=ALICE)
    assert "yunikorn.apache.org/user.info of a pod cannot be changed" in text
    assert "cannot be changed" in refused(pod(), old=after, user=ALICE)
    assert stored(after, old=after) == after


def added_to(kind: str) -> None:
    after = stored(workload(kind), kind=kind, user=ALICE)
    assert user_info(template(after)) == ALICES_RECORD
    assert after["metadata"] == workload(kind)["metadata"]
    other = workload(kind, {USER_INFO: record("bob")})
    assert "'alice' may not write" in refused(other, kind=kind, user=ALICE)
    assert "'alice' may not write" in refused(other, old=after, kind=kind, user=ALICE)


def test_user_info_is_added_to_a_deployment() -> None:
    added_to("Deployment")


def test_user_info_is_added_to_a_stateful_set() -> None:
    added_to("StatefulSet")


def test_user_info_is_added_to_a_daemon_set() -> None:
    added_to("DaemonSet")


def test_user_info_is_added_to_a_replica_set() -> None:
    added_to("ReplicaSet")


def test_user_info_is_added_to_a_job() -> None:
    added_to("Job")


def test_user_info_is_added_to_a_cron_job() -> None:
    added_to("CronJob")


def test_an_untrusted_controller_is_refused() -> None:
    written = pod({USER_INFO: record("alice")})
    controller = (CONTROLLER, ["system:serviceaccounts"])
    assert user_info(stored(written, user=controller)) == {"user": "alice", "groups": []}
    under = policy(accessControl__trustControllers="false")
    text = refused(written, under=under, user=controller)
    assert "replicaset-controller' may not write the annotation" in text


@pytest.mark.parametrize(
    "under, allowed",
    [
        (policy(), False),
        (policy(accessControl__externalUsers="^al"), True),
        (policy(accessControl__externalUsers="^bob$"), False),
        (policy(accessControl__externalGroups="^dev$"), True),
        (policy(accessControl__externalGroups="^ops$"), False),
        (policy(accessControl__bypassAuth="true"), True),
    ],
    ids=["nobody", "user", "other user", "group", "other group", "bypass"],
)
def test_an_untrusted_user_is_refused(under: Policy, allowed: bool) -> None:
    answer, _ = ask(pod({USER_INFO: record("carol")}), under=under, user=ALICE)
    assert answer.allowed is allowed
    assert allowed or "'alice' may not write the annotation" in answer.message
    assert allowed or answer.code == 403


def test_what_system_users_submit_stays_as_it_is() -> None:
    controller = (CONTROLLER, ["system:serviceaccounts"])
    for kind in ("ReplicaSet", "Job"):
        for written in (workload(kind), workload(kind, {USER_INFO: record("alice")})):
            assert stored(written, kind=kind, user=controller) == written
    # Even a controller that is not trusted: the refusal of its pods tells it.
    under = policy(accessControl__trustControllers="false")
    written = workload("ReplicaSet", {USER_INFO: record("alice")})
    assert stored(written, under=under, kind="ReplicaSet", user=controller) == written
