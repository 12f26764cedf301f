"""Faults that tests can ask for, and how the server is started, left and found again."""

from __future__ import annotations

import stat
import threading
from pathlib import Path

import httpx2
import pytest
import yaml

from remuda_kubernetes.testing.faults import Call
from remuda_kubernetes.testing.process import ApiServerProcess
from remuda_kubernetes.testing.server import ApiServer
from remuda_kubernetes.testing.settings import Settings
from tests.kubernetes.testing.calls import PODS, Calls, pod, seen
from tests.waiting import wait


def binding(call: Call) -> bool:
    return call.subresource == "binding"


def test_a_failure_is_answered_so_often_and_then_no_more(server: ApiServer, calls: Calls) -> None:
    calls.made(PODS, pod("a"))
    failure = server.faults.fail(binding, status=503, reason="ServiceUnavailable", times=2)
    for _ in range(2):
        code, refused = calls.bound("a", "n1")
        assert (code, refused["reason"]) == (503, "ServiceUnavailable")
    assert calls.get(f"{PODS}/a")[1]["spec"].get("nodeName") is None
    assert calls.bound("a", "n1")[0] == 201
    assert failure.seen == 2


def test_a_failure_can_be_taken_back_and_say_when_to_retry(server: ApiServer, calls: Calls) -> None:
    failure = server.faults.fail(
        lambda call: call.verb == "list", status=429, times=None, retry_after=3
    )
    answer = calls.http.get(PODS)
    assert (answer.status_code, answer.headers["retry-after"]) == (429, "3")
    server.faults.cease(failure)
    assert calls.get(PODS)[0] == 200


@pytest.mark.parametrize("status", [500, 0])
def test_an_answer_can_be_lost_after_the_write(
    server: ApiServer, calls: Calls, status: int
) -> None:
    calls.made(PODS, pod("a"))
    server.faults.fail(binding, status=status, performed=True)
    if status:
        assert calls.bound("a", "n1")[0] == status
    else:
        with pytest.raises(httpx2.RemoteProtocolError):
            calls.bound("a", "n1")
    assert calls.get(f"{PODS}/a")[1]["spec"]["nodeName"] == "n1"


def test_a_paused_server_answers_when_it_is_back(server: ApiServer, calls: Calls) -> None:
    server.faults.pause()
    answers: list[int] = []
    waiting = threading.Thread(target=lambda: answers.append(calls.get(PODS)[0]), daemon=True)
    waiting.start()
    with pytest.raises(httpx2.ReadTimeout):
        httpx2.get(f"{server.address}{PODS}", timeout=0.2)
    assert answers == []
    server.faults.resume()
    waiting.join(60)
    assert answers == [200]


def test_held_watches_are_told_later(server: ApiServer, calls: Calls) -> None:
    with calls.watch(PODS) as events:
        calls.made(PODS, pod("a"))
        assert seen(next(events)) == ("ADDED", "a")
        server.faults.hold_watches()
        calls.made(PODS, pod("b"))
        calls.made(PODS, pod("c"))
        server.faults.release_watches()
        assert [seen(next(events)) for _ in range(2)] == [("ADDED", "b"), ("ADDED", "c")]


def test_cut_watches_end_and_others_can_begin(server: ApiServer, calls: Calls) -> None:
    with calls.watch(PODS) as events:
        wait(lambda: bool(server.run(lambda: len(server.faults.watches))))
        server.faults.cut_watches()
        assert list(events) == []
    calls.made(PODS, pod("a"))
    with calls.watch(PODS) as events:
        assert seen(next(events)) == ("ADDED", "a")


def test_answers_can_be_slow(server: ApiServer, calls: Calls) -> None:
    server.faults.latency_of = lambda call: 60.0 if call.name == "slow" else 0.0
    with pytest.raises(httpx2.ReadTimeout):
        httpx2.get(f"{server.address}{PODS}/slow", timeout=0.2)
    assert calls.get(f"{PODS}/quick")[0] == 404


def test_a_server_that_was_away_is_found_where_it_was(server: ApiServer, calls: Calls) -> None:
    calls.made(PODS, pod("a"))
    address = server.address
    with calls.watch(PODS) as events:
        assert seen(next(events)) == ("ADDED", "a")
        with server.away():
            with pytest.raises((httpx2.RemoteProtocolError, httpx2.ReadError)):
                next(events)
            with pytest.raises(httpx2.ConnectError):
                httpx2.get(f"{address}/version")
    assert server.address == address
    with Calls(address) as again:
        assert [each["metadata"]["name"] for each in again.get(PODS)[1]["items"]] == ["a"]


def test_a_token_is_required_where_there_is_one(tmp_path: Path) -> None:
    with ApiServer(Settings(token="secret")) as server:
        with Calls(server.address) as nobody, Calls(server.address, "wrong") as stranger:
            assert nobody.get(PODS)[0] == 403
            assert stranger.get(PODS)[0] == 401
            assert nobody.get("/version")[0] == 200
        file = server.write_kubeconfig(tmp_path / "kubeconfig")
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        told = yaml.safe_load(file.read_text())
        token = told["users"][0]["user"]["token"]
        with Calls(told["clusters"][0]["cluster"]["server"], token) as calls:
            assert calls.get(PODS)[0] == 200


def test_an_unknown_release_is_refused() -> None:
    with pytest.raises(ValueError, match="minor: 19 is not between 20 and 34"):
        Settings(minor=19)


def test_a_server_in_a_process_of_its_own_has_the_objects_that_were_given() -> None:
    with ApiServerProcess([pod("a"), pod("b")], minor=20) as process:
        with Calls(process.address) as calls:
            assert len(calls.get(PODS)[1]["items"]) == 2
            assert calls.get("/version")[1]["minor"] == "20"
        assert process.kubeconfig.is_file()
        running = process.process
    assert running is not None
    assert running.returncode == 0
