"""Lists and pages of the server, while others write."""

from __future__ import annotations

from remuda_kubernetes.testing.server import ApiServer
from tests.kubernetes.testing.calls import PODS, Calls, names, pod


def filled(calls: Calls, count: int) -> None:
    for number in range(count):
        calls.made(PODS, pod(f"p{number}"))


def test_pages_show_one_version_of_the_list(calls: Calls) -> None:
    filled(calls, 5)
    _, first = calls.get(PODS, limit="2")
    calls.delete(f"{PODS}/p3")
    calls.made(PODS, pod("p25"))
    calls.patch(f"{PODS}/p4", {"metadata": {"labels": {"late": "yes"}}})
    _, second = calls.get(PODS, limit="2", **{"continue": first["metadata"]["continue"]})
    _, third = calls.get(PODS, limit="2", **{"continue": second["metadata"]["continue"]})
    assert names(first) + names(second) + names(third) == ["p0", "p1", "p2", "p3", "p4"]
    assert first["metadata"]["remainingItemCount"] == 3
    assert second["metadata"]["remainingItemCount"] == 1
    assert {page["metadata"]["resourceVersion"] for page in (first, second, third)} == {
        first["metadata"]["resourceVersion"]
    }
    assert third["items"][0]["metadata"].get("labels") is None
    assert "continue" not in third["metadata"]
    _, now = calls.get(PODS)
    assert names(now) == ["p0", "p1", "p2", "p25", "p4"]


def test_an_expired_page_offers_to_go_on_without_consistency(
    server: ApiServer, calls: Calls
) -> None:
    filled(calls, 4)
    _, first = calls.get(PODS, limit="2")
    calls.made(PODS, pod("p9"))
    server.faults.compact()
    code, refused = calls.get(PODS, limit="2", **{"continue": first["metadata"]["continue"]})
    assert (code, refused["reason"]) == (410, "Expired")
    token = refused["metadata"]["continue"]
    code, rest = calls.get(PODS, **{"continue": token})
    assert code == 200
    assert names(rest) == ["p2", "p3", "p9"]


def test_pages_with_a_selector_say_how_to_go_on_but_not_how_many_follow(calls: Calls) -> None:
    for number in range(6):
        calls.made(PODS, pod(f"p{number}", labels={"odd": str(number % 2)}))
    _, first = calls.get(PODS, limit="2", labelSelector="odd=1")
    assert names(first) == ["p1", "p3"]
    assert "remainingItemCount" not in first["metadata"]
    token = first["metadata"]["continue"]
    _, second = calls.get(PODS, limit="2", labelSelector="odd=1", **{"continue": token})
    assert names(second) == ["p5"]
    assert "continue" not in second["metadata"]


def test_a_list_of_any_version_is_not_cut_into_pages(calls: Calls) -> None:
    filled(calls, 3)
    _, listed = calls.get(PODS, limit="1", resourceVersion="0")
    assert names(listed) == ["p0", "p1", "p2"]


def test_a_list_can_be_read_as_of_an_older_version(calls: Calls) -> None:
    filled(calls, 2)
    _, before = calls.get(PODS)
    calls.delete(f"{PODS}/p0")
    version = before["metadata"]["resourceVersion"]
    _, then = calls.get(PODS, resourceVersion=version, resourceVersionMatch="Exact")
    assert names(then) == ["p0", "p1"]
    assert then["metadata"]["resourceVersion"] == version


def test_a_namespace_has_its_own_objects_only(calls: Calls) -> None:
    for name in ("a", "a-b", "b"):
        calls.made("/api/v1/namespaces", {"metadata": {"name": name}})
        body = {"metadata": {"name": "same"}, "data": {"of": name}}
        calls.made(f"/api/v1/namespaces/{name}/configmaps", body)
    _, listed = calls.get("/api/v1/namespaces/a/configmaps")
    assert [each["data"]["of"] for each in listed["items"]] == ["a"]
    _, everything = calls.get("/api/v1/configmaps")
    assert len(everything["items"]) == 3


def test_a_loaded_cluster_is_listed_at_once(server: ApiServer, calls: Calls) -> None:
    nodes = [{"kind": "Node", "metadata": {"name": f"n{number}"}} for number in range(10)]
    assert server.load([*nodes, *(pod(f"p{number}") for number in range(100))]) == 110
    _, listed = calls.get(PODS)
    assert len(listed["items"]) == 100
    assert listed["items"][0]["spec"]["restartPolicy"] == "Always"
    _, one = calls.get("/api/v1/nodes/n3")
    assert one["metadata"]["uid"]
    versions = {each["metadata"]["resourceVersion"] for each in listed["items"]}
    assert len(versions) == 100


def test_bad_numbers_and_tokens_are_refused(calls: Calls) -> None:
    # The codes are those of a real server of release 1.20.
    assert calls.get(PODS, limit="many")[0] == 400
    assert calls.get(PODS, limit="-1")[0] == 200
    assert calls.get(PODS, resourceVersion="9" * 40)[0] == 500
    assert calls.get(PODS, resourceVersion="abc")[0] == 500
    assert calls.get(PODS, **{"continue": "e30"})[0] == 400
