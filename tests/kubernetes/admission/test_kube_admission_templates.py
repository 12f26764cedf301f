"""What becomes of templates when they are changed, and of whom that cannot be used."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from remuda_kubernetes.admission.templates import TEMPLATES
from remuda_kubernetes.admission.webhooks import MUTATING
from tests.kubernetes.admission.asking import (
    ALICES_RECORD,
    CONTROLLER,
    USER_INFO,
    Object,
    ask,
    policy,
    record,
    refused,
    stored,
    template,
    user_info,
    workload,
)

KINDS = sorted(kind for _, kind in TEMPLATES)
BOB = ("bob", ["system:authenticated"])


def written(kind: str = "Deployment", **spec: Any) -> Object:
    return stored(workload(kind, **spec), kind=kind)


def with_record(content: Object, text: str | None) -> Object:
    found = copy.deepcopy(content)
    annotations = template(found)["metadata"].setdefault("annotations", {})
    annotations.pop(USER_INFO, None)
    if text is not None:
        annotations[USER_INFO] = text
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_a_change_that_leaves_the_user_out_keeps_the_user(kind: str) -> None:
    before = written(kind)
    after = stored(with_record(before, None), old=before, kind=kind, user=BOB)
    assert user_info(template(after)) == ALICES_RECORD


@pytest.mark.parametrize("kind", KINDS)
def test_a_change_by_somebody_else_keeps_the_user(kind: str) -> None:
    before = written(kind)
    changed = copy.deepcopy(before)
    template(changed)["spec"]["containers"][0]["image"] = "example/two"
    assert stored(changed, old=before, kind=kind, user=BOB) == changed


@pytest.mark.parametrize("kind", KINDS)
def test_nobody_becomes_another_user_by_a_change(kind: str) -> None:
    before = written(kind)
    for text in (record("carol"), "{", ""):
        assert "may not write" in refused(with_record(before, text), old=before, kind=kind)
    # Bob takes it over in his own name, with his own rights.
    own = with_record(before, record("bob", "system:authenticated"))
    assert stored(own, old=before, kind=kind, user=BOB) == own


def test_those_who_are_believed_may_change_the_user() -> None:
    under = policy(accessControl__externalUsers="^bob$")
    before = written()
    changed = with_record(before, record("carol"))
    assert stored(changed, old=before, kind="Deployment", user=BOB, under=under) == changed
    answer, _ = ask(with_record(before, "{"), old=before, kind="Deployment", user=BOB, under=under)
    assert (answer.allowed, answer.code) == (False, 422)


def test_a_template_from_before_gets_a_user_when_it_changes_and_not_when_it_is_scaled() -> None:
    before = workload("Deployment")
    scaled = copy.deepcopy(before)
    scaled["spec"]["replicas"] = 3
    assert stored(scaled, old=before, kind="Deployment") == scaled
    changed = copy.deepcopy(before)
    template(changed)["metadata"]["annotations"] = {"restarted": "now"}
    after = stored(changed, old=before, kind="Deployment")
    assert user_info(template(after)) == ALICES_RECORD


def test_a_user_that_nobody_looked_at_does_not_count_later() -> None:
    under = policy(filtering__bypassNamespaces="^team$")
    before = workload("Deployment", {USER_INFO: record("bob")})
    assert stored(before, kind="Deployment", under=under) == before
    changed = workload("Deployment", {USER_INFO: record("bob")}, schedulerName="yunikorn")
    assert "may not write" in refused(changed, old=before, kind="Deployment", under=under)


def test_a_controller_changes_what_it_likes_but_the_user_if_it_is_not_believed() -> None:
    controller = (CONTROLLER, ["system:serviceaccounts"])
    before = workload("Job")
    changed = copy.deepcopy(before)
    template(changed)["metadata"]["annotations"] = {"a": "b"}
    assert stored(changed, old=before, kind="Job", user=controller) == changed
    under = policy(accessControl__trustControllers="false")
    other = workload("Job", {USER_INFO: record("alice")})
    assert "may not write" in refused(other, kind="Job", user=controller, under=under)


@pytest.mark.parametrize("part", [None, {}, {"spec": None}, "text"])
def test_an_object_without_a_template_is_left_alone(part: Any) -> None:
    content = {"metadata": {"name": "w"}, "spec": {"template": part}}
    answer, after = ask(content, kind="ReplicationController")
    if isinstance(part, dict):
        assert not answer.allowed or user_info(template(after)) == ALICES_RECORD
    else:
        assert (answer.allowed, after) == (True, content)


def test_everything_that_is_looked_at_is_asked_about() -> None:
    asked = {
        (group, resource)
        for hook in MUTATING
        for rule in hook.rules
        for group in rule.groups
        for resource in rule.resources
    }
    assert asked == {(group, f"{kind.lower()}s") for group, kind in TEMPLATES} | {("", "pods")}
