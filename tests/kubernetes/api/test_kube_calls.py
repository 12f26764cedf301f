"""Calls: what is sent, what each answer means, what is tried again, and in which order."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from remuda_kubernetes.api.attempts import CallSettings
from remuda_kubernetes.api.calls import Calls
from remuda_kubernetes.api.connection import ConnectionSettings
from remuda_kubernetes.api.discovery import Served
from remuda_kubernetes.objects.kinds import CLAIM, PERSISTENT_VOLUME, POD
from remuda_kubernetes.objects.metadata import ObjectMeta
from remuda_kubernetes.objects.outcomes import Outcome, Result
from remuda_kubernetes.objects.pods import Pod, PodCondition
from remuda_kubernetes.objects.storage import PersistentVolume, PersistentVolumeClaim
from tests.kubernetes.api.scripted import Reply, Request, Server, Stream, eventually, refusal, run

VERSIONS = {POD: "v1", PERSISTENT_VOLUME: "v1", CLAIM: "v1"}
NEW = Served("v1.33.0", VERSIONS, eviction="v1", checks_uid=True)
OLD = Served("v1.20.2", VERSIONS, eviction="v1beta1", checks_uid=False)
QUICK = CallSettings(deadline=5.0, first_wait=0.01, longest_wait=0.02)
P = "/api/v1/namespaces/n/pods"
DONE = Reply(201, {"kind": "Status", "status": "Success", "code": 201})


def pod(name: str = "p", uid: str = "u1", **meta: Any) -> Pod:
    return Pod(metadata=ObjectMeta(name=name, namespace="n", uid=uid, **meta))


def shown(name: str = "p", uid: str = "u1", node: str = "", **meta: Any) -> Reply:
    metadata = {"name": name, "namespace": "n", "uid": uid, **meta}
    return Reply(200, {"kind": "Pod", "metadata": metadata, "spec": {"nodeName": node}})


class OpenFence:
    """Allows writes for so many seconds more, whenever it is asked."""

    def __init__(self, seconds: float = math.inf) -> None:
        self.seconds = seconds

    def remaining(self) -> float:
        return self.seconds


@asynccontextmanager
async def calling(
    server: Server, served: Served = NEW, settings: CallSettings = QUICK, **more: Any
) -> AsyncIterator[Calls]:
    most = ConnectionSettings(in_flight=settings.in_flight)
    async with server.connection(most) as connection:
        more.setdefault("fence", OpenFence())
        yield Calls(connection, served, settings=settings, chance=lambda: 0.5, **more)


def test_a_binding_carries_uid_and_node() -> None:
    async def test() -> None:
        async with Server() as server, calling(server) as calls:
            server.on("POST", f"{P}/p/binding", DONE)
            outcome = await calls.bind(pod(), "node-1")
            assert outcome == Outcome(Result.DONE)
            (request,) = server.requests
            assert request.json == {
                "apiVersion": "v1",
                "kind": "Binding",
                "metadata": {"name": "p", "namespace": "n", "uid": "u1"},
                "target": {"apiVersion": "v1", "kind": "Node", "name": "node-1"},
            }

    run(test())


@pytest.mark.parametrize(
    "reply, result, words",
    [
        (refusal(409, "Conflict", 'already assigned to node "m1"'), Result.CONFLICT, "m1"),
        (refusal(404, "NotFound", 'pods "p" not found'), Result.GONE, "not found"),
        (refusal(403, "Forbidden", "cannot create pods/binding"), Result.REFUSED, "bind a role"),
        (refusal(422, "Invalid", "target.name: Required value"), Result.REFUSED, "Required"),
        (refusal(400, "BadRequest", "name in URL"), Result.REFUSED, "name in URL"),
    ],
)
def test_what_a_refused_binding_means(reply: Reply, result: Result, words: str) -> None:
    async def test() -> None:
        async with Server() as server, calling(server) as calls:
            server.on("POST", f"{P}/p/binding", reply)
            server.on("GET", f"{P}/p", shown(node="m1"))
            outcome = await calls.bind(pod(), "m2")
            assert (outcome.result, outcome.attempts) == (result, 1)
            assert words in outcome.message
            assert server.url in outcome.message

    run(test())


def test_a_pod_that_an_earlier_call_bound_to_the_node_is_bound() -> None:
    async def test() -> None:
        async with Server() as server, calling(server) as calls:
            refused = refusal(409, "Conflict", 'already assigned to node "m1"')
            server.on("POST", f"{P}/p/binding", refused)
            server.on("GET", f"{P}/p", shown(node="m1"))
            outcome = await calls.bind(pod(), "m1")
            assert outcome.result is Result.DONE

    run(test())


def test_errors_that_pass_are_tried_again() -> None:
    async def test() -> None:
        async with Server() as server, calling(server) as calls:
            server.on(
                "POST",
                f"{P}/p/binding",
                refusal(500, "InternalError", "etcd leader changed"),
                refusal(429, "TooManyRequests", "too many", details={"retryAfterSeconds": 0}),
                Reply(503, b""),
                DONE,
            )
            outcome = await calls.bind(pod(), "m1")
            assert (outcome.result, outcome.attempts) == (Result.DONE, 4)
            assert calls.figures.retries == 3
            assert calls.figures.ended == {("bind", "done"): 1}
            assert (calls.figures.open, calls.figures.in_flight) == (0, 0)

    run(test())


def test_tries_end_at_the_deadline() -> None:
    settings = CallSettings(deadline=0.2, first_wait=0.01, longest_wait=0.05)

    async def test() -> None:
        async with Server() as server, calling(server, settings=settings) as calls:
            server.on("POST", f"{P}/p/binding", refusal(500, "InternalError", "no etcd"))
            outcome = await calls.bind(pod(), "m1")
            assert outcome.result is Result.FAILED
            assert "no etcd" in outcome.message
            assert outcome.attempts >= 2

    run(test())


def test_a_wait_that_the_server_asks_for_beyond_the_deadline_ends_the_call_at_once() -> None:
    async def test() -> None:
        async with Server() as server, calling(server) as calls:
            busy = Reply(429, {"reason": "TooManyRequests"}, {"Retry-After": "60"})
            server.on("POST", f"{P}/p/binding", busy)
            outcome = await calls.bind(pod(), "m1")
            assert (outcome.result, outcome.attempts) == (Result.FAILED, 1)
            assert outcome.retry_after == 60.0

    run(test())


def test_a_server_that_is_away_is_a_failure_and_no_exception() -> None:
    settings = CallSettings(deadline=0.1, first_wait=0.02)

    async def test() -> None:
        async with Server() as server, calling(server, settings=settings) as calls:
            await server.stop_listening()
            outcome = await calls.bind(pod(), "m1")
            assert outcome.result is Result.FAILED
            assert "cannot connect" in outcome.message

    run(test())


async def swallowed(stream: Stream) -> None:
    """Does what is asked, and breaks before it answers."""
    stream.cut()
    raise ConnectionError


@pytest.mark.parametrize(
    "there, result",
    [
        (shown(node="m1"), Result.DONE),
        (shown(node="m9"), Result.CONFLICT),
        (shown(uid="u2", node="m1"), Result.CONFLICT),
    ],
)
def test_a_binding_whose_answer_was_lost_is_looked_for(there: Reply, result: Result) -> None:
    async def test() -> None:
        async with Server() as server, calling(server) as calls:
            again = refusal(409, "Conflict", "already assigned")
            server.on("POST", f"{P}/p/binding", swallowed, again)
            server.on("GET", f"{P}/p", there)
            outcome = await calls.bind(pod(), "m1")
            assert (outcome.result, outcome.attempts) == (result, 2)

    run(test())


def test_a_wrong_uid_is_seen_before_the_binding_where_the_server_does_not_look() -> None:
    async def test() -> None:
        async with Server() as server, calling(server, OLD) as calls:
            server.on("GET", f"{P}/p", shown(uid="u2"))
            outcome = await calls.bind(pod(), "m1")
            assert outcome.result is Result.CONFLICT
            assert "uid u2, not u1" in outcome.message
            assert not server.seen("POST")

    run(test())


def test_a_wrong_uid_is_seen_after_the_binding_where_the_server_does_not_look() -> None:
    async def test() -> None:
        async with Server() as server, calling(server, OLD) as calls:
            server.on("GET", f"{P}/p", shown(uid="u1"), shown(uid="u2", node="m1"))
            server.on("POST", f"{P}/p/binding", DONE)
            outcome = await calls.bind(pod(), "m1")
            assert outcome.result is Result.CONFLICT
            assert "which was bound" in outcome.message
            assert outcome.pod is not None
            assert outcome.pod.uid == "u2"

    run(test())


def test_pods_with_generated_names_cost_one_request_on_any_server() -> None:
    async def test() -> None:
        async with Server() as server, calling(server, OLD) as calls:
            server.on("POST", f"{P}/p/binding", DONE)
            assert (await calls.bind(pod(generate_name="p-"), "m1")).done
            assert len(server.requests) == 1

    run(test())


def test_calls_about_one_pod_keep_their_order_and_others_do_not_wait() -> None:
    async def test() -> None:
        go = asyncio.Event()

        async def held(stream: Stream) -> None:
            await go.wait()
            await stream.raw(b"HTTP/1.1 201 Created\r\ncontent-length: 2\r\n\r\n{}")

        async with Server() as server, calling(server) as calls:
            server.on("POST", f"{P}/p/binding", held)
            server.on("DELETE", f"{P}/p", shown())
            server.on("POST", f"{P}/q/binding", DONE)
            bind = asyncio.create_task(calls.bind(pod(), "m1"))
            delete = asyncio.create_task(calls.delete_pod(pod()))
            assert (await calls.bind(pod("q"), "m1")).done
            await eventually(lambda: bool(server.seen("POST", f"{P}/p/binding")))
            assert not server.seen("DELETE")
            go.set()
            assert (await bind).done
            assert (await delete).done
            assert [each.method for each in server.requests if "/q/" not in each.path] == [
                "POST",
                "DELETE",
            ]

    run(test())


BUDGET_SAYS = {"causes": [{"reason": "DisruptionBudget", "message": "needs 1 healthy pods"}]}


def test_an_eviction_that_a_budget_forbids_is_told_apart_from_a_busy_server() -> None:
    async def test() -> None:
        async with Server() as server, calling(server) as calls:
            server.on("GET", f"{P}/p", shown())
            server.on(
                "POST",
                f"{P}/p/eviction",
                refusal(429, "TooManyRequests", "Too many requests, please try again later."),
                refusal(429, "TooManyRequests", "Cannot evict pod", details=BUDGET_SAYS),
            )
            outcome = await calls.evict(pod())
            assert (outcome.result, outcome.attempts) == (Result.BLOCKED, 2)
            assert "Cannot evict pod" in outcome.message
            assert server.seen("POST")[0].json == {
                "apiVersion": "policy/v1",
                "kind": "Eviction",
                "metadata": {"name": "p", "namespace": "n"},
                "deleteOptions": {
                    "apiVersion": "v1",
                    "kind": "DeleteOptions",
                    "preconditions": {"uid": "u1"},
                },
            }

    run(test())


def test_evictions_use_the_version_that_the_server_has() -> None:
    async def test() -> None:
        async with Server() as server:
            server.on("GET", f"{P}/p", shown())
            server.on("POST", f"{P}/p/eviction", DONE)
            async with calling(server, OLD) as calls:
                assert (await calls.evict(pod())).done
            (eviction,) = server.seen("POST")
            assert eviction.json["apiVersion"] == "policy/v1beta1"
            without = Served("v1.3", VERSIONS)
            async with calling(server, without) as calls:
                outcome = await calls.evict(pod())
            assert outcome.result is Result.REFUSED
            assert len(server.seen("POST")) == 1

    run(test())


@pytest.mark.parametrize(
    "there, result",
    [
        (refusal(404, "NotFound"), Result.GONE),
        (shown(uid="u2"), Result.GONE),
        (shown(deletionTimestamp="2026-11-21T03:30:22Z"), Result.DONE),
    ],
)
def test_a_pod_that_is_gone_or_going_is_not_evicted(there: Reply, result: Result) -> None:
    async def test() -> None:
        async with Server() as server, calling(server) as calls:
            server.on("GET", f"{P}/p", there)
            assert (await calls.evict(pod())).result is result
            assert not server.seen("POST")

    run(test())


def test_a_deletion_has_the_uid_and_the_time_of_grace() -> None:
    async def test() -> None:
        async with Server() as server, calling(server) as calls:
            server.on("DELETE", f"{P}/p", shown(), refusal(404, "NotFound"))
            assert (await calls.delete_pod(pod(), grace_seconds=0)).done
            assert (await calls.delete_pod(pod())).result is Result.GONE
            first, second = server.requests
            assert first.json["preconditions"] == {"uid": "u1"}
            assert first.json["gracePeriodSeconds"] == 0
            assert "gracePeriodSeconds" not in second.json

    run(test())


@pytest.mark.parametrize("uid, result", [("u2", Result.GONE), ("u1", Result.CONFLICT)])
def test_a_deletion_of_a_pod_that_was_made_anew_finds_it_gone(uid: str, result: Result) -> None:
    async def test() -> None:
        async with Server() as server, calling(server) as calls:
            server.on("DELETE", f"{P}/p", refusal(409, "Conflict", "the UID in the precondition"))
            server.on("GET", f"{P}/p", shown(uid=uid))
            assert (await calls.delete_pod(pod())).result is result

    run(test())


BODY = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "p", "labels": {"a": "1"}, "ownerReferences": [{"uid": "o"}]},
    "spec": {},
}


def test_a_created_pod_is_returned() -> None:
    async def test() -> None:
        async with Server() as server, calling(server) as calls:
            server.on("POST", P, Reply(201, shown().body))
            outcome = await calls.create_pod("n", BODY)
            assert outcome.done
            assert outcome.pod is not None
            assert outcome.pod.uid == "u1"
            assert server.requests[0].json == BODY

    run(test())


def test_a_pod_whose_name_is_taken_is_a_conflict() -> None:
    async def test() -> None:
        async with Server() as server, calling(server) as calls:
            server.on("POST", P, refusal(409, "AlreadyExists", 'pods "p" already exists'))
            server.on("GET", f"{P}/p", shown(uid="u7"))
            outcome = await calls.create_pod("n", BODY)
            assert outcome.result is Result.CONFLICT
            assert outcome.pod is not None
            assert outcome.pod.uid == "u7"

    run(test())


@pytest.mark.parametrize(
    "labels, result", [({"a": "1", "b": "2"}, Result.DONE), ({"a": "2"}, Result.CONFLICT)]
)
def test_a_creation_whose_answer_was_lost_is_looked_for(
    labels: dict[str, str], result: Result
) -> None:
    async def test() -> None:
        async with Server() as server, calling(server) as calls:
            server.on("POST", P, swallowed, refusal(409, "AlreadyExists"))
            there = shown(labels=labels, ownerReferences=[{"uid": "o"}])
            server.on("GET", f"{P}/p", there)
            assert (await calls.create_pod("n", BODY)).result is result

    run(test())


def test_conditions_are_a_strategic_merge_patch_with_the_uid() -> None:
    async def test() -> None:
        async with Server() as server, calling(server) as calls:
            server.on("PATCH", f"{P}/p/status", shown())
            condition = PodCondition(
                type="PodScheduled",
                status="False",
                reason="Unschedulable",
                message="0/12 nodes",
                last_transition_time="2026-11-21T03:30:22Z",
            )
            assert (await calls.patch_pod_conditions(pod(), (condition,))).done
            (request,) = server.requests
            assert request.headers["content-type"] == "application/strategic-merge-patch+json"
            assert request.json == {
                "metadata": {"uid": "u1"},
                "status": {
                    "conditions": [
                        {
                            "type": "PodScheduled",
                            "status": "False",
                            "reason": "Unschedulable",
                            "message": "0/12 nodes",
                            "lastTransitionTime": "2026-11-21T03:30:22Z",
                        }
                    ],
                },
            }

    run(test())


def test_a_failed_pod_has_phase_reason_and_a_message_that_the_server_takes() -> None:
    async def test() -> None:
        async with Server() as server, calling(server) as calls:
            server.on("PATCH", f"{P}/p/status", shown())
            assert (await calls.fail_pod(pod(), "ApplicationRejected", "é" * 40_000)).done
            status = server.requests[0].json["status"]
            assert (status["phase"], status["reason"]) == ("Failed", "ApplicationRejected")
            assert len(status["message"].encode()) <= 32768
            assert status["message"].endswith("é…")

    run(test())


def test_a_volume_is_given_to_a_claim_as_long_as_it_is_as_seen() -> None:
    volume = PersistentVolume(metadata=ObjectMeta(name="v", uid="uv", resource_version="5"))
    claim = PersistentVolumeClaim(
        metadata=ObjectMeta(name="c", namespace="n", uid="uc", resource_version="8")
    )

    async def test() -> None:
        async with Server() as server, calling(server) as calls:
            stale = refusal(409, "Conflict", "the object has been modified")
            server.on("PATCH", "/api/v1/persistentvolumes/v", Reply(200, {}), stale)
            assert (await calls.give_volume(volume, claim)).done
            assert (await calls.give_volume(volume, claim)).result is Result.CONFLICT
            request = server.requests[0]
            assert request.headers["content-type"] == "application/merge-patch+json"
            assert request.json == {
                "metadata": {
                    "uid": "uv",
                    "resourceVersion": "5",
                    "annotations": {"pv.kubernetes.io/bound-by-controller": "yes"},
                },
                "spec": {
                    "claimRef": {
                        "apiVersion": "v1",
                        "kind": "PersistentVolumeClaim",
                        "namespace": "n",
                        "name": "c",
                        "uid": "uc",
                        "resourceVersion": "8",
                    }
                },
            }

    run(test())


def test_the_node_for_a_claims_volume_is_an_annotation() -> None:
    claim = PersistentVolumeClaim(
        metadata=ObjectMeta(name="c", namespace="n", uid="uc", resource_version="8")
    )

    async def test() -> None:
        async with Server() as server, calling(server) as calls:
            path = "/api/v1/namespaces/n/persistentvolumeclaims/c"
            server.on("PATCH", path, Reply(200, {}))
            assert (await calls.select_node(claim, "m1")).done
            (request,) = server.requests
            annotations = request.json["metadata"]["annotations"]
            assert annotations == {"volume.kubernetes.io/selected-node": "m1"}

    run(test())


def test_any_object_is_read_as_it_is() -> None:
    async def test() -> None:
        async with Server() as server, calling(server) as calls:
            path = "/apis/batch/v1/namespaces/n/jobs/j"
            server.on("GET", path, Reply(200, {"spec": {"parallelism": 3}}))
            outcome = await calls.read(path)
            assert outcome.done
            assert json.loads(outcome.content) == {"spec": {"parallelism": 3}}
            for status, result in ((404, Result.GONE), (403, Result.REFUSED)):
                server.on("GET", path, refusal(status, "No"))
                outcome = await calls.read(path)
                assert (outcome.result, outcome.content) == (result, b"")

    run(test())


def test_nothing_is_sent_once_the_fence_is_closed() -> None:
    async def test() -> None:
        async with Server() as server:
            fence = OpenFence(0.0)
            async with calling(server, fence=fence) as calls:
                outcome = await calls.bind(pod(), "m1")
                assert (outcome.result, outcome.attempts) == (Result.FENCED, 0)
                assert not server.requests

                def close(request: Request) -> Reply:
                    fence.seconds = 0.0
                    return refusal(500, "InternalError")

                fence.seconds = 100.0
                server.on("POST", f"{P}/p/binding", close)
                outcome = await calls.bind(pod(), "m1")
                assert (outcome.result, outcome.attempts) == (Result.FENCED, 1)
                assert len(server.requests) == 1

    run(test())


def test_no_request_lasts_longer_than_the_fence_is_open() -> None:
    async def silent(stream: Stream) -> None:
        await asyncio.sleep(3600)

    async def test() -> None:
        async with Server() as server:
            fence = OpenFence(0.1)
            settings = CallSettings(deadline=0.15, first_wait=0.2)
            async with calling(server, settings=settings, fence=fence) as calls:
                server.on("POST", f"{P}/p/binding", silent)
                outcome = await calls.bind(pod(), "m1")
                assert outcome.result is Result.FAILED
                assert "no answer in 0.1 s" in outcome.message

    run(test())


@pytest.mark.parametrize("body", [b"", b"garbage", b"[]", b'{"metadata": 7}'])
def test_an_answer_that_is_no_pod_fails_and_does_not_raise(body: bytes) -> None:
    settings = CallSettings(deadline=0.05, first_wait=0.02)

    async def test() -> None:
        async with Server() as server, calling(server, settings=settings) as calls:
            server.on("POST", P, Reply(201, body))
            server.on("GET", f"{P}/p", Reply(200, body))
            outcome = await calls.create_pod("n", BODY)
            assert outcome.result is Result.FAILED
            assert "no pod" in outcome.message

    run(test())
