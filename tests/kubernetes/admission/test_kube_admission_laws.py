"""Laws of admission over generated objects, users and settings."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remuda_kubernetes.admission.decide import review, validate
from remuda_kubernetes.admission.policy import Policy
from remuda_kubernetes.admission.queue_files import faults_of
from remuda_kubernetes.admission.reviews import Answer, read_request, response_of
from remuda_kubernetes.admission.surroundings import Surroundings
from remuda_kubernetes.objects.values import ObjectError
from tests.kubernetes.admission.asking import (
    APP_ID,
    CONTROLLER,
    GROUPS,
    PREEMPTION,
    QUEUE,
    USER_INFO,
    Object,
    around,
    ask,
    body,
    policy,
    record,
    request,
    template,
)

KINDS = sorted(set(GROUPS) - {"ConfigMap"})
TEMPLATES = sorted(set(KINDS) - {"Pod"})
USERS = [
    ("alice", ["dev", "system:authenticated"]),
    ("bob", []),
    (CONTROLLER, ["system:serviceaccounts"]),
    ("system:serviceaccount:yunikorn:remuda", ["system:serviceaccounts"]),
    ("system:node:n1", ["system:nodes"]),
]
UNTRUSTED = USERS[:2]
POLICIES = [
    policy(),
    policy(filtering__generateUniqueAppId="true", filtering__defaultQueue=""),
    policy(filtering__processNamespaces="^other$"),
    policy(filtering__labelNamespaces="^other$", filtering__defaultQueue="root.a@b"),
    policy(accessControl__bypassAuth="true"),
    policy(accessControl__trustControllers="false", accessControl__externalUsers="^bob$"),
    policy(**{"service.schedulerNames": "one,two"}),
]
AROUNDS = [
    around(),
    around({"team": {"yunikorn.apache.org/namespace.enableYuniKorn": "false"}}),
    around({"team": {"yunikorn.apache.org/namespace.enableYuniKorn": "true"}}),
    around({"team": {"yunikorn.apache.org/namespace.generateAppId": "false"}}),
    around(classes={"low": {PREEMPTION: "false"}}),
]
RECORDS = [record("alice", "dev", "system:authenticated"), record("bob"), record("carol"), "", "{"]

some_annotations: st.SearchStrategy[dict[str, str] | None] = st.none() | st.fixed_dictionaries(
    {},
    optional={
        USER_INFO: st.sampled_from(RECORDS),
        PREEMPTION: st.sampled_from(["true", "false", "maybe", ""]),
        APP_ID: st.sampled_from(["app-1", ""]),
        QUEUE: st.sampled_from(["root.q", ""]),
        "example.com/a~b": st.text(max_size=5),
        "kubernetes.io/config.mirror": st.just("x"),
    },
)
some_labels: st.SearchStrategy[dict[str, str] | None] = st.none() | st.fixed_dictionaries(
    {},
    optional={
        APP_ID: st.sampled_from(["app-2", ""]),
        "applicationId": st.just("app-3"),
        "spark-app-selector": st.just("spark-1"),
        "queue": st.just("root.old"),
    },
)
some_metadata: st.SearchStrategy[Object] = st.fixed_dictionaries(
    {}, optional={"annotations": some_annotations, "labels": some_labels, "name": st.just("p")}
)
spec = st.fixed_dictionaries(
    {"containers": st.just([{"name": "main", "image": "example/one"}])},
    optional={
        "schedulerName": st.sampled_from(["default-scheduler", "yunikorn", "two", ""]),
        "priorityClassName": st.sampled_from(["low", "unknown"]),
        "nodeName": st.just("n1"),
    },
)
pods = st.fixed_dictionaries({"metadata": some_metadata, "spec": spec})
# A server leaves an empty metadata out of a template, or writes it as null.
templates = st.fixed_dictionaries({"spec": spec}, optional={"metadata": st.none() | some_metadata})


def of_kind(kind: str, part: Object) -> Object:
    if kind == "Pod":
        return {"metadata": part.get("metadata") or {}, "spec": part["spec"]}
    inner: Object = {"template": part}
    if kind == "CronJob":
        inner = {"jobTemplate": {"spec": inner}}
    return {"metadata": {"name": "w"}, "spec": inner}


def part_of(kind: str, content: Object) -> Object:
    return content if kind == "Pod" else template(content)


@st.composite
def cases(draw: st.DrawFn, kinds: list[str] = KINDS) -> tuple[str, Object]:
    kind = draw(st.sampled_from(kinds))
    return kind, of_kind(kind, draw(pods if kind == "Pod" else templates))


def texts_of(part: Object) -> dict[str, Any]:
    found = part.get("metadata") or {}
    return {**(found.get("annotations") or {}), **(found.get("labels") or {})}


def without_texts(part: Object) -> Object:
    rest = copy.deepcopy(part)
    found = rest.pop("metadata", None) or {}
    rest["spec"].pop("schedulerName", None)
    return {**rest, "named": found.get("name")}


@given(
    case=cases(),
    under=st.sampled_from(POLICIES),
    cluster=st.sampled_from(AROUNDS),
    user=st.sampled_from(USERS),
)
def test_a_second_review_changes_nothing(
    case: tuple[str, Object], under: Policy, cluster: Surroundings, user: tuple[str, list[str]]
) -> None:
    kind, content = case
    answer, after = ask(content, under=under, cluster=cluster, user=user, kind=kind)
    if not answer.allowed:
        assert after == content
        return
    again, last = ask(after, under=under, cluster=cluster, user=user, kind=kind)
    assert again.allowed, again.message
    assert again.patch == ()
    assert last == after
    stored, _ = ask(after, old=after, under=under, cluster=cluster, user=user, kind=kind)
    assert (stored.allowed, stored.patch) == (True, ())


@given(
    case=cases(),
    under=st.sampled_from(POLICIES),
    cluster=st.sampled_from(AROUNDS),
    user=st.sampled_from(USERS),
)
def test_a_patch_adds_our_texts_and_changes_nothing_else(
    case: tuple[str, Object], under: Policy, cluster: Surroundings, user: tuple[str, list[str]]
) -> None:
    kind, content = case
    _, after = ask(content, under=under, cluster=cluster, user=user, kind=kind)
    before, now = part_of(kind, content), part_of(kind, after)
    assert without_texts(now) == without_texts(before)
    texts = texts_of(before)
    changed = {name for name, text in texts_of(now).items() if texts.get(name) != text}
    assert changed <= {USER_INFO, PREEMPTION, APP_ID, QUEUE}
    # What a pod says of itself stays, but for a truth value that is none.
    assert {name for name in changed if texts.get(name)} <= {PREEMPTION}
    assert texts.keys() <= texts_of(now).keys()


@given(case=cases(), user=st.sampled_from(UNTRUSTED), cluster=st.sampled_from(AROUNDS))
def test_nobody_creates_in_the_name_of_another(
    case: tuple[str, Object], user: tuple[str, list[str]], cluster: Surroundings
) -> None:
    kind, content = case
    answer, after = ask(content, under=policy(), cluster=cluster, user=user, kind=kind)
    part = part_of(kind, after)
    ours = part["spec"].get("schedulerName") == "yunikorn"
    processed = cluster is not AROUNDS[1]
    if answer.allowed and (ours or processed):
        found = json.loads(texts_of(part)[USER_INFO])
        assert (found["user"], set(found.get("groups", []))) == (user[0], set(user[1]))


@given(
    old=templates,
    new=templates,
    kind=st.sampled_from(TEMPLATES),
    user=st.sampled_from(UNTRUSTED),
)
def test_nobody_changes_a_template_into_the_name_of_another(
    old: Object, new: Object, kind: str, user: tuple[str, list[str]]
) -> None:
    before, content = of_kind(kind, old), of_kind(kind, new)
    answer, after = ask(content, old=before, user=user, kind=kind)
    if not answer.allowed:
        return
    kept = texts_of(template(before)).get(USER_INFO)
    found = texts_of(template(after)).get(USER_INFO)
    if found != kept:
        assert (json.loads(found or "{}").get("user")) == user[0]
    assert found is not None or template(before) == template(after)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=8),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(["metadata", "annotations", "labels", "spec", "template", "a"]),
                inner,
                max_size=4,
            )
        ),
        max_leaves=12,
    ),
    st.sampled_from(KINDS),
    st.booleans(),
)
def test_whatever_the_object_is_there_is_an_answer(content: Any, kind: str, update: bool) -> None:
    asked = request(content, old=content if update else None, kind=kind)
    answer = review(asked, policy(), around())
    assert isinstance(json.loads(response_of(asked.uid, answer))["response"]["allowed"], bool)


@given(st.binary(max_size=200))
def test_a_body_that_is_no_review_is_told_so(content: bytes) -> None:
    with pytest.raises(ObjectError):
        read_request(content)


@given(
    st.sampled_from(["request", "kind", "apiVersion", "uid", "userInfo", "object"]), st.integers()
)
def test_a_review_with_a_field_of_a_wrong_kind_is_told_so(field: str, value: int) -> None:
    whole = json.loads(body({"metadata": {}, "spec": {}}))
    holder = whole if field in whole else whole["request"]
    holder[field] = value
    try:
        asked = read_request(json.dumps(whole).encode())
    except ObjectError:
        assert field != "object"
    else:
        assert field == "object"
        assert not review(asked, policy(), around()).allowed


@given(data=st.dictionaries(st.sampled_from(["queues.yaml", "kubernetes.qps"]), st.text()))
def test_whatever_a_config_map_says_there_is_an_answer(data: dict[str, str]) -> None:
    content = {"metadata": {"name": "yunikorn-configs", "namespace": "yunikorn"}, "data": data}
    asked = request(content, kind="ConfigMap", namespace="yunikorn")
    answer = validate(asked, policy(), Surroundings(), faults_of)
    assert isinstance(answer, Answer)
    assert answer.allowed or answer.message.startswith("the scheduler would refuse")
