"""The doctor asks about rights, reads only, and copes with servers that refuse, hang or lie."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from remuda.base.errors import UsageError
from remuda_kubernetes.doctor import door
from remuda_kubernetes.doctor.asking import needs
from remuda_kubernetes.doctor.run import Options, examine
from remuda_kubernetes.packaging import rights
from remuda_kubernetes.testing import binaries
from remuda_kubernetes.testing.faults import Call
from remuda_kubernetes.testing.real import RealServer
from remuda_kubernetes.testing.settings import Settings
from tests.e2e.serving import run_remuda
from tests.kubernetes.end_to_end import sound
from tests.kubernetes.end_to_end.auditing import audit_options, audited, create_roles
from tests.kubernetes.end_to_end.calls import Api
from tests.kubernetes.end_to_end.manifests import pod_manifest
from tests.kubernetes.end_to_end.servers import FakeServer

Told = dict[str, Any]
READER = "auditor"


def told(kubeconfig: Path, **options: Any) -> list[Told]:
    """All findings of a look at the cluster."""
    text, _ = examine(Options(kubeconfig=kubeconfig, namespace=sound.SPACE, json=True, **options))
    found: list[Told] = json.loads(text)["findings"]
    return found


def permissions(found: list[Told]) -> list[tuple[str, str, str]]:
    """Severity, object and problem of what is said about rights."""
    return [
        (each["severity"], each["object"], each["problem"])
        for each in found
        if each["area"] == "permissions"
    ]


@pytest.fixture
def fake(tmp_path: Path) -> Iterator[FakeServer]:
    """A fake server of its own, for faults."""
    with FakeServer(tmp_path) as server:
        yield server


@pytest.fixture
def installed(fake: FakeServer) -> FakeServer:
    """One with a sound installation."""
    with Api(fake.kubeconfig) as api:
        sound.install(api)
    return fake


def denying(server: FakeServer, resource: str, verb: str) -> list[Any]:
    """Let a right be denied; returns what will have been asked."""
    asked: list[Any] = []

    def denied(spec: Any) -> bool:
        asked.append(spec)
        what = spec["resourceAttributes"]
        return (what["resource"], what["verb"]) == (resource, verb)

    server.inner.faults.denied = denied
    return asked


# ------------------------------------------------------------------ rights


@pytest.mark.remuda_rule("EXT-152")
@pytest.mark.parametrize("part", ["scheduler", "workloads", "admission"])
def test_what_is_asked_about_is_what_the_roles_of_an_installation_grant(part: str) -> None:
    granted = {
        (group, resource, verb, each["metadata"].get("namespace", ""), name)
        for each in getattr(rights, part)("space")
        if each["kind"] in {"Role", "ClusterRole"}
        for rule in each["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
        for name in rule.get("resourceNames", [""])
    }
    found = needs(part, "space")
    assert {(n.group, n.resource, n.verb, n.namespace, n.name) for n in found} == granted
    assert len(found) == len(granted) > 5


@pytest.mark.remuda_rule("EXT-152")
def test_rights_that_the_installed_accounts_miss_are_errors(installed: FakeServer) -> None:
    asked = denying(installed, "pods", "create")
    first, second, *_ = permissions(told(installed.kubeconfig))
    assert first[:2] == ("error", "ServiceAccount yunikorn/remuda")
    assert "may not create pods in the whole cluster" in first[2]
    assert "may not create pods/" in second[2]
    users = {each["user"] for each in asked}
    assert users == {
        f"system:serviceaccount:yunikorn:{name}" for name in ("remuda", "remuda-admission")
    }
    assert all("system:serviceaccounts:yunikorn" in each["groups"] for each in asked)


def test_rights_of_a_role_in_a_namespace_name_it_and_the_object(installed: FakeServer) -> None:
    denying(installed, "leases", "update")
    problems = [problem for _, _, problem in permissions(told(installed.kubeconfig))]
    where = "leases.coordination.k8s.io named remuda-kubernetes in namespace yunikorn"
    assert any(f"may not update {where}" in each for each in problems)


def test_without_an_installation_the_rights_of_the_caller_count(fake: FakeServer) -> None:
    asked = denying(fake, "pods", "patch")
    found = permissions(told(fake.kubeconfig))
    assert {(severity, whose) for severity, whose, _ in found} == {("warning", "you")}
    assert all("user" not in each for each in asked)


def test_another_account_can_be_asked_about(fake: FakeServer) -> None:
    asked = denying(fake, "nodes", "list")
    found = permissions(told(fake.kubeconfig, account="batch/mine"))
    assert [(severity, whose) for severity, whose, _ in found] == [
        ("error", "ServiceAccount batch/mine")
    ]
    assert {each["user"] for each in asked} == {"system:serviceaccount:batch:mine"}


def test_a_caller_who_may_not_ask_about_others_is_told(installed: FakeServer) -> None:
    installed.inner.faults.fail(
        lambda call: call.path.endswith("/subjectaccessreviews"),
        status=403,
        reason="Forbidden",
        times=None,
    )
    found = permissions(told(installed.kubeconfig))
    assert [severity for severity, _, _ in found] == ["warning", "warning"]
    assert all("could not be asked about" in problem for _, _, problem in found)


@pytest.mark.remuda_rule("EXT-151")
def test_nothing_but_reads_and_reviews_reaches_the_server(installed: FakeServer) -> None:
    with Api(installed.kubeconfig) as api:
        api.create(sound.PODS, pod_manifest("p", queue="root.batch", app="a"))
    calls: list[Call] = []

    def record(call: Call) -> float:
        calls.append(call)
        return 0.0

    installed.inner.faults.latency_of = record
    version = installed.inner.objects("pods")[0]["metadata"]["resourceVersion"]
    told(installed.kubeconfig)
    others = [each for each in calls if each.verb not in {"", "get", "list"}]
    assert {each.path for each in others} == set(door.REVIEWS[1:])
    assert {each.verb for each in others} == {"create"}
    assert {"pods", "deployments", "configmaps"} <= {each.resource for each in calls}
    assert installed.inner.objects("pods")[0]["metadata"]["resourceVersion"] == version


# ------------------------------------------------------------------ odd servers


@pytest.mark.remuda_rule("EXT-156")
def test_what_may_not_be_read_is_told_and_the_rest_is_looked_at(installed: FakeServer) -> None:
    installed.inner.faults.fail(
        lambda call: call.resource in {"deployments", "pods", "configmaps"},
        status=403,
        reason="Forbidden",
        times=None,
    )
    found = told(installed.kubeconfig)
    (unread,) = [each for each in found if "not read" in each["problem"]]
    assert {"Deployments", "Pods"} < set(unread["object"].split(", "))
    assert unread["severity"] == "warning"
    assert "you are not allowed" in unread["problem"]
    assert not [each for each in found if "no Deployment of Remuda" in each["problem"]]


def test_an_object_of_an_odd_form_is_told_and_the_others_are_looked_at(fake: FakeServer) -> None:
    odd = pod_manifest("odd", queue="root.batch", app="a")
    odd["metadata"] |= {"namespace": "default", "uid": "u1"}
    odd["spec"]["priority"] = "high"
    fake.inner.load([odd])
    with Api(fake.kubeconfig) as api:
        api.create(sound.PODS, pod_manifest("p", queue="root.batch", app=""))
    found = told(fake.kubeconfig)
    (one,) = [each for each in found if "cannot read" in each["problem"]]
    assert one["object"] == "Pod default/odd"
    assert [each for each in found if each["object"] == "Pod default/p"]


def test_pages_are_followed_to_the_end(fake: FakeServer) -> None:
    pods = [pod_manifest(f"p{number:04}", queue="q", app="") for number in range(1203)]
    for number, each in enumerate(pods):
        each["metadata"] |= {"namespace": "default", "uid": f"u{number}"}
    fake.inner.load(pods)
    found = told(fake.kubeconfig)
    (one,) = [each for each in found if "names no application" in each["problem"]]
    assert one["more"] == 1202


@pytest.mark.parametrize(
    "minor, severities",
    [(34, ["note"]), (21, ["note"]), (20, [])],
)
def test_the_release_of_the_server_is_judged(
    tmp_path: Path, minor: int, severities: list[str]
) -> None:
    with FakeServer(tmp_path, Settings(minor=minor)) as server:
        found = told(server.kubeconfig)
    said = [each for each in found if each["object"].startswith("API server")]
    assert [each["severity"] for each in said] == severities
    assert all("expected to work" in each["problem"] for each in said)


# ------------------------------------------------------------------ as a user


def doctor(*arguments: str, **environment: str) -> Any:
    """Run the command."""
    return run_remuda("kubernetes", "doctor", *arguments, **environment)


def test_a_person_reads_findings_by_severity_and_a_sum(installed: FakeServer) -> None:
    with Api(installed.kubeconfig) as api:
        body = {"data": {"kubernetes.qps": "many", "colour": "red\x1b[31m\u202e"}}
        api.merge(f"{sound.MAPS}/yunikorn-configs", body)
    ended = doctor("--kubeconfig", str(installed.kubeconfig))
    assert (ended.returncode, ended.stderr) == (1, "")
    lines = ended.stdout.splitlines()
    assert lines[0].startswith("Kubernetes v1.")
    assert lines.index("Errors") < lines.index("Warnings") < lines.index("Notes")
    assert "kubernetes.qps: 'many' cannot be read" in ended.stdout
    assert lines[-1].startswith("1 error, 1 warning, ")
    assert ended.stdout.replace("\n", "").isprintable()


def test_no_errors_end_with_0(installed: FakeServer) -> None:
    ended = doctor("--kubeconfig", str(installed.kubeconfig), "--output", "json")
    assert (ended.returncode, ended.stderr) == (0, "")
    found = json.loads(ended.stdout)
    assert (found["namespace"], found["counts"]["errors"]) == ("yunikorn", 0)


def test_wrong_input_and_a_server_that_does_not_answer_are_one_line_and_code_2(
    fake: FakeServer, tmp_path: Path
) -> None:
    there = ("--kubeconfig", str(fake.kubeconfig))
    cases = [
        (("--kubeconfig", str(tmp_path / "none")), "no such file"),
        ((*there, "--service-account", "remuda"), "NAMESPACE/NAME"),
        ((*there, "--namespace", "No!"), "--namespace"),
        ((*there, "--kube-context", "none"), "there is no context 'none'"),
    ]
    for arguments, word in cases:
        ended = doctor(*arguments)
        assert (ended.returncode, ended.stdout) == (2, "")
        assert word in ended.stderr
        assert len(ended.stderr.splitlines()) == 1
    with fake.away():
        ended = doctor(*there)
    assert (ended.returncode, len(ended.stderr.splitlines())) == (2, 1)
    assert "cannot connect" in ended.stderr


@pytest.mark.remuda_rule("EXT-156")
def test_a_server_that_hangs_does_not_hold_the_command(fake: FakeServer) -> None:
    with fake.silent(), pytest.raises(UsageError, match=r"no answer in 0.2 s"):
        told(fake.kubeconfig, seconds=0.2)


def test_a_server_that_refuses_everything_is_one_line(fake: FakeServer) -> None:
    fake.inner.faults.fail(lambda _: True, status=401, reason="Unauthorized", times=None)
    ended = doctor("--kubeconfig", str(fake.kubeconfig))
    assert (ended.returncode, len(ended.stderr.splitlines())) == (2, 1)
    assert "does not know these credentials" in ended.stderr


# ------------------------------------------------------------------ a real server


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealServer]:
    """A real server with roles, which writes down every request."""
    if reason := binaries.missing():
        pytest.skip(f"no real API server, and roles count on no other: {reason}")
    folder = tmp_path_factory.mktemp("doctor")
    users = {READER: ["system:authenticated"]}
    with RealServer(folder, users=users, options=audit_options(folder)) as server:
        with Api(server.kubeconfig) as api:
            sound.install(api)
        yield server


@pytest.mark.kubernetes
@pytest.mark.remuda_rule("EXT-152", "EXT-151")
def test_a_real_server_tells_which_rights_miss_and_writes_down_reads_only(
    real: RealServer,
) -> None:
    before = len(audited(real.directory))
    found = permissions(told(real.kubeconfig))
    assert {whose for _, whose, _ in found} == {
        f"ServiceAccount yunikorn/{name}" for name in ("remuda", "remuda-admission")
    }
    assert any("may not create pods/binding in the whole cluster" in text for *_, text in found)
    ours = [
        each
        for each in audited(real.directory)[before:]
        if each["userAgent"] == "remuda-kubernetes"
    ]
    changing = [each for each in ours if each["verb"] not in {"get", "list"}]
    assert {each["objectRef"]["resource"] for each in changing} == {"subjectaccessreviews"}
    assert len(changing) > 50
    with Api(real.kubeconfig) as api:
        for part in (rights.scheduler, rights.admission):
            create_roles(api, part(sound.SPACE))
        while permissions(told(real.kubeconfig)):
            # The server learns roles a moment after they were made; pytest bounds the wait.
            pass


@pytest.mark.kubernetes
def test_a_caller_without_rights_on_a_real_server_gets_what_can_be_said(
    real: RealServer,
) -> None:
    found = told(real.kubeconfig_of(READER))
    (unread,) = [each["object"] for each in found if "not allowed to read" in each["problem"]]
    assert {"Deployments", "Pods", "PriorityClasses"} < set(unread.split(", "))
    mine = [problem for _, whose, problem in permissions(found) if whose == "you"]
    assert any("may not create pods/binding" in each for each in mine)
