"""The HTTPS edge: bounds, and an answer or a status for whatever comes; and its metrics."""

from __future__ import annotations

import asyncio
import json
import re
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx2
import pytest

from remuda_kubernetes.admission import decide
from remuda_kubernetes.admission import front as edge
from remuda_kubernetes.admission.figures import Figures
from remuda_kubernetes.admission.front import BODY_LIMIT, Front, reports
from remuda_kubernetes.admission.known import KINDS, Known
from remuda_kubernetes.admission.reviews import Answer, Request
from remuda_kubernetes.api.connection import Connection
from remuda_kubernetes.api.discovery import discover
from remuda_kubernetes.api.kubeconfig import Access
from remuda_kubernetes.testing.server import ApiServer
from tests.kubernetes.admission.asking import USER_INFO as USER
from tests.kubernetes.admission.asking import body, pod, record

MANUAL = Path(__file__).parents[3] / "docs/reference/metrics.md"
ENABLE = "yunikorn.apache.org/namespace.enableYuniKorn"
Act = Callable[[httpx2.AsyncClient, Known, Figures], Awaitable[None]]


def with_front(act: Act, *, settings: dict[str, str] | None = None) -> Figures:
    """Let a front answer by what a fake API server knows."""
    figures = Figures()

    async def run(server: ApiServer) -> None:
        access = Access(server=server.address, source="a test")
        async with Connection(access) as connection:
            known = Known(connection, await discover(connection, KINDS), "yunikorn")
            await known.begin()
            app = Front(known, figures).application()
            transport = httpx2.ASGITransport(app=app)
            async with httpx2.AsyncClient(transport=transport, base_url="http://a") as client:
                await act(client, known, figures)
            await known.reflectors.aclose()

    with ApiServer() as server:
        objects: list[dict[str, Any]] = [
            {"kind": "Namespace", "metadata": {"name": "yunikorn"}},
            {"kind": "Namespace", "metadata": {"name": "team"}},
        ]
        if settings is not None:
            metadata = {"name": "yunikorn-configs", "namespace": "yunikorn"}
            objects.append({"kind": "ConfigMap", "metadata": metadata, "data": settings})
        server.load(objects)
        asyncio.run(run(server))
    return figures


@pytest.mark.parametrize(
    "content, status, text",
    [
        (b"", 400, "no admission review"),
        (b"{}", 400, "send AdmissionReview of admission.k8s.io/v1"),
        (b"\xff\xfe", 400, "no admission review"),
        (b"[" * 100_000, 400, "no admission review"),
        (b'{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"}', 400, "no request with"),
        (b"x" * (BODY_LIMIT + 1), 413, "too large"),
    ],
    ids=["nothing", "empty", "no text", "deep", "no request", "large"],
)
def test_what_is_no_review_gets_a_status_and_one_line(
    content: bytes, status: int, text: str
) -> None:
    async def act(client: httpx2.AsyncClient, _known: Known, figures: Figures) -> None:
        for path in ("/mutate", "/validate-conf"):
            answer = await client.post(path, content=content)
            assert (answer.status_code, answer.text.count("\n")) == (status, 1)
            assert text in answer.text
        assert figures.invalid == {str(status): 2}

    with_front(act)


def test_an_object_that_cannot_be_read_is_refused_with_the_uid_of_its_request() -> None:
    async def act(client: httpx2.AsyncClient, _known: Known, _figures: Figures) -> None:
        answer = await client.post("/mutate", content=body({"metadata": 7}))
        response = answer.json()["response"]
        assert (answer.status_code, response["allowed"]) == (200, False)
        assert response["uid"] == "705ab4f5-6393-11e8-b7cc-42010a800002"
        assert response["status"]["code"] == 422
        assert "cannot be read" in response["status"]["message"]

    with_front(act)


def test_a_fault_of_ours_leaves_the_decision_to_the_failure_policy(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: object) -> None:
        raise KeyError("secret of the object")

    monkeypatch.setattr(decide, "review", broken)

    async def act(client: httpx2.AsyncClient, _known: Known, _figures: Figures) -> None:
        answer = await client.post("/mutate", content=body(pod()))
        assert (answer.status_code, "secret" in answer.text) == (500, False)

    with_front(act)
    assert "the failure policy decides" in caplog.text


def test_an_answer_that_takes_too_long_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(edge, "ANSWER_SECONDS", 0.05)

    async def act(client: httpx2.AsyncClient, known: Known, _figures: Figures) -> None:
        async def never(_namespace: str) -> None:
            await asyncio.Event().wait()

        monkeypatch.setattr(known, "learn", never)
        answer = await client.post("/mutate", content=body(pod()))
        assert answer.status_code == 503

    with_front(act)


def test_queue_files_are_judged_one_after_the_other_even_if_nobody_waits_any_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(edge, "ANSWER_SECONDS", 0.05)
    begun: list[str] = []
    gate = threading.Event()

    def slow(asked: Request, *_: object) -> Answer:
        begun.append(asked.uid)
        gate.wait(60)
        return Answer()

    monkeypatch.setattr(decide, "validate", slow)

    async def act(client: httpx2.AsyncClient, _known: Known, _figures: Figures) -> None:
        content = body({"metadata": {"name": "yunikorn-configs"}}, kind="ConfigMap")
        try:
            for _ in range(3):
                answer = await client.post("/validate-conf", content=content)
                assert answer.status_code == 503
            assert len(begun) == 1
        finally:
            gate.set()
        monkeypatch.setattr(edge, "ANSWER_SECONDS", 60)
        answer = await client.post("/validate-conf", content=content)
        assert (answer.status_code, len(begun)) == (200, 2)

    with_front(act)


def test_a_namespace_that_the_watch_has_not_told_of_is_looked_up() -> None:
    async def act(client: httpx2.AsyncClient, known: Known, _figures: Figures) -> None:
        # Nothing comes by the watch any more.
        await known.reflectors.aclose()
        space = {"metadata": {"name": "late", "annotations": {ENABLE: "false"}}}
        server = known._requests.server  # type: ignore[attr-defined]
        async with httpx2.AsyncClient() as other:
            made = await other.post(f"{server}/api/v1/namespaces", json=space)
        assert made.status_code == 201
        for namespace, patched in (("late", False), ("team", True), ("../x", True)):
            answer = await client.post("/mutate", content=body(pod(), namespace=namespace))
            assert ("patch" in answer.json()["response"]) is patched, namespace

    with_front(act)


def test_strangers_who_name_many_namespaces_do_not_reach_the_api_server() -> None:
    async def act(client: httpx2.AsyncClient, known: Known, _figures: Figures) -> None:
        asked: list[str] = []
        gate = asyncio.Event()
        gate.set()
        original = known._requests.request

        async def counted(method: str, path: str, **how: Any) -> Any:
            asked.append(path)
            await gate.wait()
            return await original(method, path, **how)

        known._requests.request = counted  # type: ignore[method-assign]
        await known.reflectors.aclose()
        asked.clear()
        for _ in range(20):
            await client.post("/mutate", content=body(pod(), namespace="nowhere"))
        assert asked == ["/api/v1/namespaces/nowhere"]
        asked.clear()
        gate.clear()
        posts = [
            asyncio.ensure_future(
                client.post("/mutate", content=body(pod(), namespace=f"n{number}"))
            )
            for number in range(100)
        ]
        # Four wait for the server, and nobody waits for them.
        while sum(each.done() for each in posts) < 96:  # noqa: ASYNC110 - bounded by the test
            await asyncio.sleep(0)
        assert len(asked) == 4
        gate.set()
        assert {(await each).status_code for each in posts} == {200}

    with_front(act)


def test_settings_count_from_the_start() -> None:
    key = "admissionController.filtering.bypassNamespaces"

    async def act(client: httpx2.AsyncClient, _known: Known, _figures: Figures) -> None:
        answer = await client.post("/mutate", content=body(pod()))
        assert "patch" not in answer.json()["response"]

    with_front(act, settings={key: "^team$"})


def test_metrics_are_those_of_the_manual_and_their_labels_are_bounded() -> None:
    async def act(client: httpx2.AsyncClient, _known: Known, figures: Figures) -> None:
        await client.post("/mutate", content=body(pod()))
        await client.post("/mutate", content=body(pod({USER: record("bob")})))
        for number in range(5):
            strange = json.loads(body(pod()))
            strange["request"]["kind"]["kind"] = f"Kind{number}"
            strange["request"]["operation"] = f"DO{number}"
            await client.post("/mutate", content=json.dumps(strange))
        await client.post("/mutate", content=b"")
        assert figures.answers == {
            ("Pod", "create", "patched"): 1,
            ("Pod", "create", "refused"): 1,
            ("other", "other", "allowed"): 5,
        }

    text = with_front(act).text()
    types = re.findall(r"^# TYPE remuda_admission_(\w+) (\w+)$", text, re.MULTILINE)
    section = MANUAL.read_text().partition("## The admission controller")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| `(\w+)` \| (\w+) \|", section, re.MULTILINE)
    assert sorted(rows) == sorted(each for each in types if not each[0].endswith("_created"))
    assert 'remuda_admission_invalid_total{status="400"} 1.0' in text


def test_probes_say_what_is_missing() -> None:
    problems = {"listener": "waits for a certificate"}

    async def test() -> None:
        transport = httpx2.ASGITransport(app=reports(lambda: problems, Figures()))
        async with httpx2.AsyncClient(transport=transport, base_url="http://a") as client:
            assert (await client.get("/livez")).status_code == 200
            answer = await client.get("/readyz")
            assert (answer.status_code, answer.text) == (503, "listener: waits for a certificate\n")
            problems.clear()
            assert (await client.get("/readyz")).text == "ok\n"
            assert (await client.get("/metrics")).status_code == 200

    asyncio.run(test())
