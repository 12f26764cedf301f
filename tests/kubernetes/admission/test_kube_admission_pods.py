"""What becomes of pods: application, queue, scheduler, namespaces, and what is left alone."""

from __future__ import annotations

import json

import pytest

from remuda_kubernetes.admission.patching import pointer
from remuda_kubernetes.admission.reviews import read_request
from remuda_kubernetes.objects.pods import Pod
from remuda_kubernetes.objects.values import ObjectError, convert
from remuda_kubernetes.translation.metadata import application_id, queue_of
from tests.kubernetes.admission.asking import (
    ALICES_RECORD,
    APP_ID,
    CONTROLLER,
    PREEMPTION,
    QUEUE,
    USER_INFO,
    User,
    around,
    ask,
    body,
    pod,
    policy,
    record,
    refused,
    stored,
    user_info,
)

DOMAIN = "yunikorn.apache.org/"
ENABLE = DOMAIN + "namespace.enableYuniKorn"
GENERATE = DOMAIN + "namespace.generateAppId"
UID = "6fb4a4d2-8a3c-4e3f-9d53-3d0c4f1f9a10"
# The longest name of a namespace; the ID would end in "-", which no label may.
LONG = "n" * 53 + "-" + "x" * 9
NAMESPACES = ["team", "a", LONG, "y" * 63, "0-1"]


def as_stored(content: dict[str, object], namespace: str) -> Pod:
    metadata = {**content["metadata"], "namespace": namespace, "uid": UID}  # type: ignore[dict-item]
    return convert(Pod, {**content, "metadata": metadata})


@pytest.mark.parametrize("unique", [True, False], ids=["unique", "shared"])
@pytest.mark.parametrize("namespace", NAMESPACES, ids=["short", "one", "dash", "longest", "digit"])
def test_the_generated_application_is_the_one_that_the_shim_would_generate(
    namespace: str, unique: bool
) -> None:
    under = policy(filtering__generateUniqueAppId=str(unique).lower())
    after = stored(pod(), under=under, namespace=namespace)
    shim = application_id(as_stored(pod(), namespace), unique=unique)
    assert application_id(as_stored(after, namespace), unique=unique) == shim
    for text in after["metadata"]["labels"].values():
        assert len(text) <= 63
        assert text[-1].isalnum()


def test_a_queue_that_no_label_can_have_is_an_annotation() -> None:
    after = stored(pod(), under=policy(filtering__defaultQueue="root.a@b"))
    assert after["metadata"]["annotations"][QUEUE] == "root.a@b"
    assert queue_of(as_stored(after, "team")) == "root.a@b"


@pytest.mark.parametrize(
    "labels, annotations",
    [
        ({APP_ID: "a"}, None),
        ({}, {APP_ID: "a"}),
        ({"applicationId": "a"}, None),
        ({"spark-app-selector": "a"}, None),
    ],
)
def test_an_application_that_is_named_stays(
    labels: dict[str, str], annotations: dict[str, str] | None
) -> None:
    after = stored(pod(annotations, labels))
    assert after["metadata"]["labels"] == {**labels, QUEUE: "root.default"}


@pytest.mark.parametrize(
    "labels, annotations",
    [({QUEUE: "root.q"}, None), ({}, {QUEUE: "root.q"}), ({"queue": "q"}, {})],
)
def test_a_queue_that_is_named_stays(
    labels: dict[str, str], annotations: dict[str, str] | None
) -> None:
    after = stored(pod(annotations, labels))
    assert after["metadata"]["labels"] == {**labels, APP_ID: "yunikorn-team-autogen"}


def test_without_a_default_queue_none_is_added() -> None:
    after = stored(pod(), under=policy(filtering__defaultQueue=""))
    assert after["metadata"]["labels"] == {APP_ID: "yunikorn-team-autogen"}


def test_a_pod_keeps_a_scheduler_name_of_ours_and_no_other() -> None:
    under = policy(**{"service.schedulerNames": "one,two"})
    names = {
        name: stored(pod(schedulerName=name), under=under)["spec"]["schedulerName"]
        for name in ("one", "two", "default-scheduler", "other")
    }
    assert names == {"one": "one", "two": "two", "default-scheduler": "one", "other": "one"}


@pytest.mark.parametrize(
    "annotation, lists, processed",
    [
        (None, {}, True),
        ("true", {"filtering__bypassNamespaces": "^team$"}, True),
        ("false", {"filtering__processNamespaces": "^team$"}, False),
        ("perhaps", {"filtering__bypassNamespaces": "^team$"}, False),
        (None, {"filtering__processNamespaces": "^other$,^tea"}, True),
        (None, {"filtering__processNamespaces": "^other$"}, False),
        (
            None,
            {"filtering__processNamespaces": "^team$", "filtering__bypassNamespaces": "^te"},
            False,
        ),
    ],
)
def test_the_annotation_of_a_namespace_counts_before_the_lists(
    annotation: str | None, lists: dict[str, str], processed: bool
) -> None:
    cluster = around({"team": {} if annotation is None else {ENABLE: annotation}})
    after = stored(pod(), under=policy(**lists), cluster=cluster)
    assert (after["spec"]["schedulerName"] == "yunikorn") is processed
    assert (after != pod()) is processed


@pytest.mark.parametrize(
    "annotation, lists, labelled",
    [
        (None, {}, True),
        ("false", {}, False),
        ("true", {"filtering__noLabelNamespaces": "^team$"}, True),
        (None, {"filtering__noLabelNamespaces": "^team$"}, False),
        (None, {"filtering__labelNamespaces": "^other$"}, False),
    ],
)
def test_a_namespace_without_labels_gets_the_scheduler_and_the_user_only(
    annotation: str | None, lists: dict[str, str], labelled: bool
) -> None:
    cluster = around({"team": {} if annotation is None else {GENERATE: annotation}})
    after = stored(pod(), under=policy(**lists), cluster=cluster)
    assert after["spec"]["schedulerName"] == "yunikorn"
    assert user_info(after) == ALICES_RECORD
    assert ("labels" in after["metadata"]) is labelled
    assert (PREEMPTION in after["metadata"]["annotations"]) is labelled


def test_a_pod_that_names_us_in_a_namespace_that_is_bypassed_has_a_user_that_counts() -> None:
    under = policy(filtering__bypassNamespaces="^team$")
    after = stored(pod(labels={"a": "b"}, schedulerName="yunikorn"), under=under)
    assert user_info(after) == ALICES_RECORD
    assert after["metadata"]["labels"] == {"a": "b"}
    written = pod({USER_INFO: record("bob")}, schedulerName="yunikorn")
    assert "may not write" in refused(written, under=under)
    assert "cannot be changed" in refused(written, old=after, under=under)
    # Nobody reads it of other pods.
    assert stored(pod({USER_INFO: record("bob")}), under=under) == pod({USER_INFO: record("bob")})


def test_a_user_cannot_come_in_by_a_change_of_a_pod_that_nobody_reviewed() -> None:
    text = refused(pod({USER_INFO: record("bob")}), old=pod())
    assert "cannot be changed" in text


def test_placeholders_of_the_shim_are_for_the_user_of_their_gang() -> None:
    account = ("system:serviceaccount:yunikorn:remuda", ["system:serviceaccounts"])
    under = policy(accessControl__trustControllers="false")
    written = pod({USER_INFO: record("alice")}, schedulerName="yunikorn")
    assert user_info(stored(written, under=under, user=account)) == {"user": "alice", "groups": []}
    other: User = ("system:serviceaccount:yunikorn-evil:remuda", [])
    assert "may not write" in refused(written, under=under, user=other)


def test_a_pod_of_a_controller_whose_template_names_nobody_is_for_the_controller() -> None:
    after = stored(pod(), user=(CONTROLLER, []))
    assert user_info(after) == {"user": CONTROLLER}


def test_a_pod_that_a_kubelet_shows_is_left_alone() -> None:
    mirror = pod({"kubernetes.io/config.mirror": "x"}, nodeName="n1")
    assert stored(mirror, user=("system:node:n1", ["system:nodes"])) == mirror
    plain = pod(nodeName="n1")
    kubelet: User = ("system:node:n1", ["system:nodes"])
    assert stored(plain, user=kubelet)["spec"]["schedulerName"] == "yunikorn"
    # Others cannot pretend to be one.
    assert stored(mirror)["spec"]["schedulerName"] == "yunikorn"


@pytest.mark.parametrize(
    "text, kept",
    [
        (f'{{"user": "alice", "groups": {groups}}}', kept)
        for groups, kept in (
            ('["dev", "system:authenticated"]', True),
            ('["system:authenticated", "dev"]', True),
            ('["dev"]', False),
            ('["dev", "system:authenticated", "ops"]', False),
        )
    ],
    ids=["same", "order", "fewer", "more"],
)
def test_everybody_may_write_themselves_with_all_their_groups(text: str, kept: bool) -> None:
    answer, after = ask(pod({USER_INFO: text}))
    assert answer.allowed is kept
    assert after["metadata"]["annotations"][USER_INFO] == text


@pytest.mark.parametrize("text", ["", "{", "[]", '{"groups": ["a"]}', '{"user": "a\\u0000"}'])
def test_a_record_that_means_nothing_is_refused_even_from_those_who_are_believed(
    text: str,
) -> None:
    answer, _ = ask(pod({USER_INFO: text}), under=policy(accessControl__externalUsers="alice"))
    assert (answer.allowed, answer.code) == (False, 422)
    assert 'write JSON such as {"user": "alice"' in answer.message


def test_a_user_whom_the_scheduler_cannot_take_is_told_at_once() -> None:
    answer, _ = ask(pod(), user=("x" * 257, []))
    assert (answer.allowed, answer.code) == (False, 422)
    assert "has 257 characters; write at most 256" in answer.message
    assert stored(pod(), under=policy(accessControl__bypassAuth="true"), user=("x" * 257, []))


def test_without_checks_of_users_nothing_is_added_or_refused() -> None:
    under = policy(accessControl__bypassAuth="true")
    assert USER_INFO not in stored(pod(), under=under)["metadata"]["annotations"]
    written = pod({USER_INFO: record("bob")})
    assert stored(written, old=pod(), under=under) == written


def test_a_word_that_is_no_truth_value_is_replaced_and_told() -> None:
    cluster = around(classes={"low": {PREEMPTION: "false"}})
    answer, after = ask(pod({PREEMPTION: "maybe"}, priorityClassName="low"), cluster=cluster)
    assert after["metadata"]["annotations"][PREEMPTION] == "false"
    assert "'maybe' is neither true nor false, so it is false now" in answer.warnings[0]
    for text in ("true", "False", "1"):
        kept = stored(pod({PREEMPTION: text}, priorityClassName="low"), cluster=cluster)
        assert kept["metadata"]["annotations"][PREEMPTION] == text


def test_sub_resources_and_deletions_are_no_concern() -> None:
    written = pod({USER_INFO: record("bob")})
    assert stored(written, old=pod(), sub_resource="resize") == written


@pytest.mark.parametrize(
    "path, expected",
    [((), ""), (("a", "b"), "/a/b"), (("a/b~c",), "/a~1b~0c"), (("~1",), "/~01"), (("",), "/")],
)
def test_names_are_written_into_a_pointer_as_its_standard_says(
    path: tuple[str, ...], expected: str
) -> None:
    assert pointer(path) == expected


@pytest.mark.parametrize("uid", ["", "x" * 257])
def test_a_request_needs_a_uid_that_can_be_given_back(uid: str) -> None:
    whole = json.loads(body(pod()))
    whole["request"]["uid"] = uid
    with pytest.raises(ObjectError, match="no request with a uid"):
        read_request(json.dumps(whole).encode())
