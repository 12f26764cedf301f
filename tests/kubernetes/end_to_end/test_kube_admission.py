"""The admission controller as a process: real registration, and real calls over TLS.

The same tests run on the fake API server, which calls webhooks, too, and on a real one.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import pytest

from remuda_kubernetes.admission.pairs import Pair, new_pair
from remuda_kubernetes.admission.webhooks import trusted
from tests.kubernetes.end_to_end.admitting import (
    APP_ID,
    CONFIGURATIONS,
    NAMESPACE,
    PLURALS,
    USER_INFO,
    Controller,
    Object,
    pod,
    record,
    user_of,
)
from tests.kubernetes.end_to_end.calls import Api, Refused
from tests.kubernetes.end_to_end.servers import Server

ALICE = ("alice", ["dev", "system:authenticated"])
JOB_CONTROLLER = ("system:serviceaccount:kube-system:job-controller", ["system:serviceaccounts"])
NAME_LABEL = "kubernetes.io/metadata.name"
ENABLE = "yunikorn.apache.org/namespace.enableYuniKorn"
PODS = "/api/v1/namespaces/team/pods"
DEPLOYMENTS = "/apis/apps/v1/namespaces/team/deployments"
CONFIG_MAPS = f"/api/v1/namespaces/{NAMESPACE}/configmaps"
SECRET = f"/api/v1/namespaces/{NAMESPACE}/secrets/remuda-admission"


@pytest.fixture(autouse=True)
def _places(server: Server, api: Api) -> Iterator[None]:
    """Namespaces as newer servers label them; and nothing is registered afterwards."""
    for name in (NAMESPACE, "team", "exempt"):
        api.create("/api/v1/namespaces", {"metadata": {"name": name}})
    for name in (NAMESPACE, "team", "exempt", "kube-system"):
        api.merge(f"/api/v1/namespaces/{name}", {"metadata": {"labels": {NAME_LABEL: name}}})
    labels = {"metadata": {"labels": {"remuda/admission": "exempt"}}}
    api.merge("/api/v1/namespaces/exempt", labels)
    yield
    for plural in PLURALS:
        with suppress(Refused):
            api.delete(f"{CONFIGURATIONS}/{plural}/remuda-admission")


@pytest.fixture
def controller(server: Server, _places: None, tmp_path: Path) -> Iterator[Controller]:
    """A controller that the server asks."""
    with Controller(server.kubeconfig, tmp_path / "admission.log") as running:
        running.start()
        yield running


@pytest.fixture
def alice(server: Server) -> Iterator[Api]:
    """A user without rights of her own to name others."""
    with Api(server.kubeconfig, user=ALICE) as client:
        yield client


def until_asked(alice: Api, api: Api) -> None:
    """Wait until the server has learned of the configuration, which takes a moment."""
    deadline = time.monotonic() + 60
    while user_of(alice.create(PODS, pod("first"))) is None:
        assert time.monotonic() < deadline
        api.delete(f"{PODS}/first", gracePeriodSeconds=0)
        time.sleep(0.1)


def deployment(annotations: dict[str, str] | None = None) -> Object:
    template = pod("t", annotations)
    template["metadata"] = {"labels": {"app": "a"}, "annotations": annotations or {}}
    spec = {"selector": {"matchLabels": {"app": "a"}}, "template": template}
    return {"metadata": {"name": "web"}, "spec": spec}


def test_pods_and_templates_are_completed_and_nobody_acts_for_others(
    controller: Controller, api: Api, alice: Api, server: Server
) -> None:
    until_asked(alice, api)
    made = alice.create(PODS, pod("one"))
    assert made["spec"]["schedulerName"] == "yunikorn"
    assert made["metadata"]["labels"][APP_ID] == "yunikorn-team-autogen"
    assert user_of(made) == "alice"
    with pytest.raises(Refused, match="'alice' may not write the annotation") as refused:
        alice.create(PODS, pod("two", {USER_INFO: record("bob")}))
    assert refused.value.code == 403
    with pytest.raises(Refused, match="cannot be changed"):
        api.merge(f"{PODS}/one", {"metadata": {"annotations": {USER_INFO: record("bob")}}})
    api.merge(f"{PODS}/one", {"metadata": {"annotations": {"example/a": "b"}}})
    web = alice.create(DEPLOYMENTS, deployment())
    assert user_of(web["spec"]["template"]) == "alice"
    bobs = {"spec": {"template": {"metadata": {"annotations": {USER_INFO: record("bob")}}}}}
    with pytest.raises(Refused, match="may not write the annotation"):
        alice.merge(f"{DEPLOYMENTS}/web", bobs)
    # A file without the record is applied again.
    again = alice.replace(f"{DEPLOYMENTS}/web", deployment())
    assert user_of(again["spec"]["template"]) == "alice"
    with Api(server.kubeconfig, user=JOB_CONTROLLER) as controllers:
        assert user_of(controllers.create(PODS, pod("three", {USER_INFO: record("bob")}))) == "bob"


def test_config_maps_are_checked_and_count_at_once(
    controller: Controller, api: Api, alice: Api
) -> None:
    until_asked(alice, api)
    wrong = {"kubernetes.qps": "many", "queues.yaml": "partitions: 7"}
    with pytest.raises(Refused) as refused:
        api.create(CONFIG_MAPS, {"metadata": {"name": "yunikorn-configs"}, "data": wrong})
    assert "1. kubernetes.qps: 'many' cannot be read" in str(refused.value)
    assert "2. queues.yaml:1:" in str(refused.value)
    api.create(CONFIG_MAPS, {"metadata": {"name": "others"}, "data": wrong})
    key = "admissionController.filtering.bypassNamespaces"
    data = {key: "^team$"}
    api.create(CONFIG_MAPS, {"metadata": {"name": "yunikorn-configs"}, "data": data})
    numbers = iter(range(1_000))

    def bypassed() -> bool:
        made = alice.create(PODS, pod(f"p{next(numbers)}"))
        return bool(made["spec"]["schedulerName"] == "default-scheduler")

    controller.until("the namespace is bypassed", bypassed)
    api.merge("/api/v1/namespaces/team", {"metadata": {"annotations": {ENABLE: "true"}}})
    controller.until("its annotation counts before the list", lambda: not bypassed())


def test_a_controller_that_is_killed_stops_nobody(
    controller: Controller, api: Api, alice: Api
) -> None:
    until_asked(alice, api)
    before = api.get(SECRET)["data"]
    controller.kill()
    made = alice.create(PODS, pod("while-away", {USER_INFO: record("bob")}))
    assert made["spec"]["schedulerName"] == "default-scheduler"
    assert user_of(made) == "bob"
    controller.start()
    assert api.get(SECRET)["data"] == before
    assert user_of(alice.create(PODS, pod("after"))) == "alice"
    with pytest.raises(Refused, match="cannot be changed"):
        alice.merge(f"{PODS}/while-away", {"metadata": {"annotations": {USER_INFO: None}}})


def test_with_the_policy_to_fail_only_exempt_namespaces_go_on(
    server: Server, api: Api, alice: Api, tmp_path: Path
) -> None:
    log = tmp_path / "admission.log"
    with Controller(server.kubeconfig, log, "--failure-policy=fail") as controller:
        controller.start()
        until_asked(alice, api)
        controller.kill()
        with pytest.raises(Refused, match=r"failed calling webhook .*pods\.admission\.remuda"):
            alice.create(PODS, pod("one"))
        with pytest.raises(Refused, match=r"failed calling webhook .*templates\.admission\.remuda"):
            alice.create(DEPLOYMENTS, deployment())
        for name in ("kube-system", NAMESPACE, "exempt"):
            made = api.create(f"/api/v1/namespaces/{name}/pods", pod("needed"))
            assert made["spec"]["schedulerName"] == "default-scheduler"
        # The scheduler's configuration can be corrected meanwhile.
        api.create(CONFIG_MAPS, {"metadata": {"name": "yunikorn-configs"}, "data": {"a": "b"}})
        controller.start()
        assert user_of(alice.create(PODS, pod("one"))) == "alice"


def test_of_two_replicas_one_writes_and_both_answer_with_one_certificate(
    server: Server, api: Api, alice: Api, tmp_path: Path
) -> None:
    first = Controller(server.kubeconfig, tmp_path / "first.log")
    second = Controller(server.kubeconfig, tmp_path / "second.log", url_of=first)
    with first, second:
        first.start()
        second.start()
        assert [each.figure("leads") for each in (first, second)] == [1, 0]
        ends = {each.figure("certificate_end_seconds") for each in (first, second)}
        assert len(ends) == 1
        versions = [registered(api) for _ in PLURALS]
        first.kill()
        second.until("the other one leads", lambda: second.figure("leads") == 1)
        assert second.figure("registered") == 1
        # Nothing had to be written, and the certificate of the first one goes on.
        assert registered(api) == versions[0]
        assert {second.figure("certificate_end_seconds")} == ends
        first.start()
        until_asked(alice, api)
        # What somebody spoils is mended by the one that leads.
        path = f"{CONFIGURATIONS}/{PLURALS[0]}/remuda-admission"
        spoilt = api.get(path)
        spoilt["webhooks"] = spoilt["webhooks"][:1]
        api.replace(path, spoilt)
        second.until("it is mended", lambda: len(api.get(path)["webhooks"]) == 2)


def test_certificates_of_others_are_followed_without_a_gap(
    server: Server, api: Api, alice: Api, tmp_path: Path
) -> None:
    folder = tmp_path / "given"
    folder.mkdir()
    old, new = (new_pair(["127.0.0.1"], datetime.now(UTC)) for _ in range(2))

    def give(pair: Pair, authorities: bytes) -> None:
        for name, text in (
            ("tls.crt", pair.certificate),
            ("tls.key", pair.key),
            ("ca.crt", authorities),
        ):
            (folder / name).write_bytes(text)

    give(old, old.authority)
    log = tmp_path / "admission.log"
    with Controller(server.kubeconfig, log, f"--certificates={folder}") as controller:
        controller.start()
        until_asked(alice, api)
        give(old, old.authority + new.authority)
        numbers = iter(range(1_000))
        path = f"{CONFIGURATIONS}/{PLURALS[0]}/remuda-admission"

        def trusts_both() -> bool:
            # No pod gets by while the certificates change.
            assert user_of(alice.create(PODS, pod(f"p{next(numbers)}"))) == "alice"
            return trusted(api.get(path)) == old.authority + new.authority

        controller.until("both are trusted", trusts_both)
        give(new, old.authority + new.authority)
        for _ in range(20):
            assert user_of(alice.create(PODS, pod(f"p{next(numbers)}"))) == "alice"
        with pytest.raises(Refused, match="not found"):
            api.get(SECRET)


def registered(api: Api) -> list[str]:
    """The versions of the configurations, which each write changes."""
    paths = [f"{CONFIGURATIONS}/{plural}/remuda-admission" for plural in PLURALS]
    return [api.get(path)["metadata"]["resourceVersion"] for path in paths]


def test_it_ends_cleanly(controller: Controller) -> None:
    controller.finish()
    assert "Traceback" not in controller.words()
    assert "lease yunikorn/remuda-admission: given back" in controller.words()
