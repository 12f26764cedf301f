"""Patches, by RFC 7386, RFC 6902 and the documentation of strategic merge patch."""

from __future__ import annotations

from typing import Any

import pytest

from remuda_kubernetes.testing.patches import json_patch, merge_patch, strategic_patch
from remuda_kubernetes.testing.statuses import Refusal


@pytest.mark.parametrize(
    "target, patch, expected",
    [
        # The test cases of RFC 7386, appendix A, whose target is an object.
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
        ({"a": "b"}, {"a": None}, {}),
        ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
        ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
        ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
        ({"a": "foo"}, "bar", "bar"),
        ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
    ],
)
def test_merge_patch_does_what_the_rfc_says(target: Any, patch: Any, expected: Any) -> None:
    assert merge_patch(target, patch) == expected


@pytest.mark.parametrize(
    "target, patch, expected",
    [
        # The examples of RFC 6902, appendix A.
        (
            {"foo": "bar"},
            [{"op": "add", "path": "/baz", "value": "qux"}],
            {"foo": "bar", "baz": "qux"},
        ),
        (
            {"foo": ["bar", "baz"]},
            [{"op": "add", "path": "/foo/1", "value": "qux"}],
            {"foo": ["bar", "qux", "baz"]},
        ),
        ({"baz": "qux", "foo": "bar"}, [{"op": "remove", "path": "/baz"}], {"foo": "bar"}),
        (
            {"foo": ["bar", "qux", "baz"]},
            [{"op": "remove", "path": "/foo/1"}],
            {"foo": ["bar", "baz"]},
        ),
        (
            {"baz": "qux", "foo": "bar"},
            [{"op": "replace", "path": "/baz", "value": "boo"}],
            {"baz": "boo", "foo": "bar"},
        ),
        (
            {"foo": {"bar": "baz", "waldo": "fred"}, "qux": {"corge": "grault"}},
            [{"op": "move", "from": "/foo/waldo", "path": "/qux/thud"}],
            {"foo": {"bar": "baz"}, "qux": {"corge": "grault", "thud": "fred"}},
        ),
        (
            {"foo": ["all", "grass", "cows", "eat"]},
            [{"op": "move", "from": "/foo/1", "path": "/foo/3"}],
            {"foo": ["all", "cows", "eat", "grass"]},
        ),
        (
            {"baz": "qux", "foo": ["a", 2, "c"]},
            [{"op": "test", "path": "/foo/1", "value": 2}],
            {"baz": "qux", "foo": ["a", 2, "c"]},
        ),
        (
            {"foo": ["bar"]},
            [{"op": "add", "path": "/foo/-", "value": ["abc", "def"]}],
            {"foo": ["bar", ["abc", "def"]]},
        ),
        ({"/": 9, "~1": 10}, [{"op": "test", "path": "/~01", "value": 10}], {"/": 9, "~1": 10}),
    ],
)
def test_json_patch_does_what_the_rfc_says(target: Any, patch: Any, expected: Any) -> None:
    assert json_patch(target, patch) == expected


@pytest.mark.parametrize(
    "patch",
    [
        [{"op": "test", "path": "/baz", "value": "bar"}],
        [{"op": "add", "path": "/a/b", "value": 1}],
        [{"op": "remove", "path": "/absent"}],
        [{"op": "replace", "path": "/absent", "value": 1}],
        [{"op": "invent", "path": "/baz"}],
        [{"path": "/baz"}],
        ["nonsense"],
        [{"op": "add", "path": "baz", "value": 1}],
    ],
)
def test_a_json_patch_that_does_not_apply_is_refused(patch: Any) -> None:
    target = {"baz": "qux"}
    with pytest.raises(Refusal) as refused:
        json_patch(target, patch)
    assert refused.value.code == 422
    assert target == {"baz": "qux"}


def test_a_json_patch_leaves_the_object_as_it_was() -> None:
    target = {"a": {"b": [1, 2]}}
    assert json_patch(target, [{"op": "remove", "path": "/a/b/0"}]) == {"a": {"b": [2]}}
    assert target == {"a": {"b": [1, 2]}}


def test_strategic_merge_joins_containers_by_name() -> None:
    target = {"spec": {"containers": [{"name": "a", "image": "1"}, {"name": "b", "image": "2"}]}}
    patch = {"spec": {"containers": [{"name": "b", "image": "3"}, {"name": "c", "image": "4"}]}}
    joined = strategic_patch(target, patch)["spec"]["containers"]
    assert {each["name"]: each["image"] for each in joined} == {"a": "1", "b": "3", "c": "4"}


def test_strategic_merge_replaces_lists_that_have_no_merge_key() -> None:
    target = {"spec": {"tolerations": [{"key": "a"}, {"key": "b"}]}}
    patch = {"spec": {"tolerations": [{"key": "c"}]}}
    assert strategic_patch(target, patch) == {"spec": {"tolerations": [{"key": "c"}]}}


def test_strategic_merge_knows_its_directives() -> None:
    target = {
        "spec": {"containers": [{"name": "a"}, {"name": "b"}], "strategy": {"type": "x", "y": {}}},
        "metadata": {"finalizers": ["f", "g"]},
    }
    patch = {
        "spec": {
            "containers": [{"name": "a", "$patch": "delete"}],
            "strategy": {"$retainKeys": ["type"], "type": "z"},
        },
        "metadata": {"$deleteFromPrimitiveList/finalizers": ["f"]},
    }
    assert strategic_patch(target, patch) == {
        "spec": {"containers": [{"name": "b"}], "strategy": {"type": "z"}},
        "metadata": {"finalizers": ["g"]},
    }


def test_strategic_merge_replaces_what_it_is_told_to() -> None:
    target = {"metadata": {"labels": {"a": "1", "b": "2"}}}
    patch = {"metadata": {"labels": {"$patch": "replace", "c": "3"}}}
    assert strategic_patch(target, patch) == {"metadata": {"labels": {"c": "3"}}}


def test_a_member_without_its_merge_key_is_refused() -> None:
    with pytest.raises(Refusal, match="merge key: name"):
        strategic_patch({"spec": {}}, {"spec": {"containers": [{"image": "x"}]}})
