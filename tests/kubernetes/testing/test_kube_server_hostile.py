"""Input that is meant to hurt: it is refused, in bounded time, and others are not disturbed."""

from __future__ import annotations

import json

import pytest

from tests.kubernetes.testing.calls import PODS, Calls, pod

MAPS = "/api/v1/namespaces/default/configmaps"
DEEP = 200_000


@pytest.mark.parametrize(
    "body",
    [
        b'{"metadata":' * DEEP + b"1" + b"}" * DEEP,
        b'{"metadata": {"name": "a"}, "data": ' + b"[" * DEEP + b"]" * DEEP + b"}",
        b"\xff\xfe",
        b'{"metadata": {"name": 5}}',
        b'{"metadata": {"name": "a", "labels": {"x": 5}}}',
        b'{"metadata": {"name": "a", "labels": [1]}}',
    ],
)
def test_a_strange_body_is_refused(calls: Calls, body: bytes) -> None:
    answer = calls.http.post(MAPS, content=body)
    assert 400 <= answer.status_code < 500
    assert answer.json()["kind"] == "Status"
    assert calls.get(MAPS) == (200, calls.get(MAPS)[1])


def test_a_body_that_is_too_large_is_refused(calls: Calls) -> None:
    answer = calls.http.post(MAPS, content=b'{"metadata": "' + b"x" * 9 * 2**20 + b'"}')
    assert answer.status_code == 413


def test_aliases_in_yaml_are_not_expanded(calls: Calls) -> None:
    lines = ["a0: &a0 [x, x]"]
    lines += [f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]" for n in range(1, 40)]
    answer = calls.http.patch(
        f"{MAPS}/a",
        content="\n".join(lines),
        params={"fieldManager": "x"},
        headers={"content-type": "application/apply-patch+yaml"},
    )
    assert answer.status_code == 400
    assert "aliases are not read" in answer.json()["message"]


def test_a_patch_cannot_copy_itself_large(calls: Calls) -> None:
    calls.made(MAPS, {"metadata": {"name": "a"}, "data": {"x": "y" * 1000}})
    doubling = [{"op": "copy", "from": "/data", "path": f"/data/c{n}"} for n in range(100)]
    code, refused = calls.patch(f"{MAPS}/a", doubling, "json-patch+json")
    assert (code, refused["reason"]) == (422, "Invalid")
    assert "copying more than" in refused["message"]


@pytest.mark.parametrize("selector", ["," * 20_000, "(" * 20_000, "a in (" + "x," * 10_000 + ")"])
def test_a_long_selector_is_read_or_refused(calls: Calls, selector: str) -> None:
    assert calls.get(PODS, labelSelector=selector)[0] in {200, 400}


@pytest.mark.parametrize(
    "path",
    [
        "/api/v1/pods/",
        "/api/v1/namespaces/default/pods/a/b/c",
        "/api/v1/nodes/a/binding",
        "/apis",
        "/apis/none/v1/x",
        "/api/v1/namespaces//pods",
        "/%00",
        "/api/v1/namespaces/default/nodes",
        "//",
    ],
)
def test_any_path_has_an_answer(calls: Calls, path: str) -> None:
    answer = calls.http.get(path)
    assert answer.status_code in {200, 404}
    if "/none" in path:
        # A real server answers so for groups that it does not know.
        assert answer.text == "404 page not found\n"
    else:
        assert isinstance(json.loads(answer.content), dict)


@pytest.mark.parametrize(
    "body", [{}, {"target": 5}, {"target": {"name": 5}}, {"metadata": 5, "target": {"name": "n"}}]
)
def test_a_strange_binding_is_refused(calls: Calls, body: dict[str, object]) -> None:
    calls.made(PODS, pod("a"))
    answer = calls.http.post(f"{PODS}/a/binding", json=body)
    assert answer.status_code in {400, 500}
    assert answer.json()["kind"] == "Status"
    assert "nodeName" not in calls.get(f"{PODS}/a")[1]["spec"]
