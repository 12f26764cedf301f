"""An API server that is slow, hostile or broken cannot hold the doctor, nor speak to a terminal."""

from __future__ import annotations

import base64
import json
import logging
import threading
import time
from collections.abc import Iterator, Mapping
from io import BufferedIOBase
from pathlib import Path
from typing import Any

import pytest

from remuda.base.errors import UsageError
from remuda_kubernetes.api.connection import ConnectionSettings
from remuda_kubernetes.doctor import run
from remuda_kubernetes.doctor.door import ReadOnly
from remuda_kubernetes.doctor.findings import LIMIT
from tests.kubernetes.doctor.between import Between, always, write
from tests.kubernetes.end_to_end import sound
from tests.kubernetes.end_to_end.calls import Api
from tests.kubernetes.end_to_end.manifests import pod_manifest
from tests.kubernetes.end_to_end.servers import FakeServer

PODS = "/api/v1/pods"
NAMESPACES = "/api/v1/namespaces"
DEPLOYMENTS = "/apis/apps/v1/deployments"
MIB = 1 << 20


@pytest.fixture(autouse=True)
def unpaced(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ask as fast as the server answers; a look asks some hundred questions about rights."""
    monkeypatch.setattr(run, "ConnectionSettings", lambda **_: ConnectionSettings(in_flight=16))


@pytest.fixture
def fake(tmp_path: Path) -> Iterator[FakeServer]:
    with FakeServer(tmp_path) as found:
        yield found


@pytest.fixture
def api(fake: FakeServer) -> Iterator[Api]:
    with Api(fake.kubeconfig) as found:
        sound.install(found)
        yield found


@pytest.fixture
def between(fake: FakeServer, api: Api, tmp_path: Path) -> Iterator[Between]:
    with Between(fake, tmp_path) as found:
        yield found


def unread(found: list[dict[str, Any]], what: str) -> str:
    """Why something was not read."""
    (one,) = [each for each in found if each["area"] == "reading" and what in each["object"]]
    assert one["severity"] == "warning"
    problem: str = one["problem"]
    return problem


def page(items: list[dict[str, Any]], following: str = "") -> bytes:
    return json.dumps({"metadata": {"continue": following}, "items": items}).encode()


def pods(count: int) -> list[dict[str, Any]]:
    """Pods that each wait for a scheduler of their own, which nobody is."""
    return [
        pod_manifest(f"p{number}", queue="", app="", scheduler=f"nobody-{number}")
        for number in range(count)
    ]


@pytest.mark.remuda_rule("EXT-156")
def test_pages_without_an_end_are_told_and_the_rest_is_looked_at(between: Between) -> None:
    between.wrong[PODS] = always(page([], "more"))
    between.wrong[NAMESPACES] = always(page([{"metadata": {"name": "a"}}], "more"))
    found = between.told(pods=500)
    assert unread(found, "Pods") == "not read: the server sends pages without end"
    assert "pages without end" in unread(found, "Namespaces")
    assert between.asked.count(f"GET {PODS}") == 4
    assert between.asked.count(f"GET {NAMESPACES}") == 82


@pytest.mark.remuda_rule("EXT-156")
@pytest.mark.parametrize("size, read", [(64 * MIB, True), (64 * MIB + 1, False)])
def test_an_answer_has_64_mib_at_most(between: Between, size: int, *, read: bool) -> None:
    body = page([])
    between.wrong[PODS] = always(body + b" " * (size - len(body)))
    found = between.told()
    if read:
        assert [each for each in found if each["area"] == "reading"] == []
    else:
        assert f"an answer of more than {64 * MIB} bytes" in unread(found, "Pods")


@pytest.mark.remuda_rule("EXT-156")
def test_the_answers_together_and_their_objects_are_bounded(
    between: Between, monkeypatch: pytest.MonkeyPatch
) -> None:
    between.wrong[PODS] = always(page([]) + b" " * MIB)
    monkeypatch.setattr(run, "ReadOnly", lambda inner, **how: _small(inner, how))
    assert "the server has sent too much in all" in unread(between.told(), "Pods")
    monkeypatch.undo()
    between.wrong[PODS] = always(b'{"metadata":{},"items":[' + b"{}," * 2_000_000 + b"{}]}")
    assert "an answer with too many objects" in unread(between.told(), "Pods")


def _small(inner: Any, how: Mapping[str, Any]) -> Any:
    return ReadOnly(inner, total=MIB, **how)


@pytest.mark.remuda_rule("EXT-156")
def test_a_server_that_answers_by_the_byte_ends_an_answer_after_its_time(between: Between) -> None:
    over = threading.Event()

    def drip(out: BufferedIOBase, _: Mapping[str, str]) -> None:
        out.write(b"HTTP/1.1 200 x\r\ncontent-length: 1000000\r\n\r\n")
        while not over.wait(0.05):
            out.write(b" ")
            out.flush()

    between.wrong[PODS] = drip
    found = between.told(seconds=3.0)
    over.set()
    assert "no answer in 3.0 s" in unread(found, "Pods")


@pytest.mark.remuda_rule("EXT-156")
def test_all_has_an_end_however_many_answers_there_are(
    between: Between, monkeypatch: pytest.MonkeyPatch
) -> None:
    over = threading.Event()

    def slow(out: BufferedIOBase, _: Mapping[str, str]) -> None:
        over.wait(0.1)
        write(out, page([], "more"))

    between.wrong[PODS] = slow
    monkeypatch.setattr(run, "_SECONDS", 2.0)
    with pytest.raises(UsageError, match=r"too slow: not all was read in 2 s; try again"):
        between.told(pods=1_000_000)
    over.set()


@pytest.mark.remuda_rule("EXT-150")
def test_findings_beyond_the_bound_are_counted_in_both_forms(between: Between) -> None:
    between.wrong[PODS] = always(page(pods(LIMIT + 100)))
    text = between.text()
    rows = [line for line in text.splitlines() if "waits for the scheduler" in line]
    assert 0 < len(rows) <= LIMIT
    report = json.loads(between.text(json=True))
    assert len(report["findings"]) == LIMIT
    total = sum(report["counts"].values())
    assert total >= LIMIT + 100
    assert f"{total - LIMIT} more findings are not shown" in text
    # Errors come first, so none of them is left out.
    told = [each["severity"] for each in report["findings"]]
    assert told == sorted(told, key=["error", "warning", "note"].index)


WRONG_BODIES = [
    b"",
    b"\xff",
    b"null",
    b"[]",
    b'{"metadata": 7}',
    b'{"metadata": {"continue": "\xff"}, "items": []}',
    b'{"metadata": {}, "items": {}}',
    b'{"gitVersion": "\xff", "groups": "\xed\xa0\x80"}',
    b'{"metadata": {"name": "\xff"}, "x": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    b'{"metadata": {}, "items": [{"metadata": {"name": "\xff"}}, 7, null, [], {"spec": 1}]}',
]


@pytest.mark.remuda_rule("EXT-156")
@pytest.mark.parametrize("body", WRONG_BODIES)
def test_answers_that_are_no_objects_are_told(between: Between, body: bytes) -> None:
    for path in (PODS, NAMESPACES, DEPLOYMENTS, f"{sound.MAPS}/yunikorn-configs"):
        between.wrong[path] = always(body)
    found = between.told()
    reading = [each for each in found if each["area"] == "reading"]
    assert any(each["problem"].startswith(("not read", "it has a form")) for each in reading)
    assert all(each["severity"] == "warning" for each in reading)
    review = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    between.wrong[review] = always(body)
    (rights, *_) = [each for each in between.told() if each["area"] == "permissions"]
    assert rights["severity"] in ("warning", "error")


@pytest.mark.remuda_rule("EXT-156")
def test_objects_of_a_wrong_form_are_named_up_to_a_bound(between: Between) -> None:
    def wrong(count: int) -> bytes:
        return page([{"metadata": {"name": f"o{number}"}, "spec": 7} for number in range(count)])

    between.wrong[f"{sound.MAPS}/yunikorn-configs"] = always(b"7")
    between.wrong[DEPLOYMENTS] = always(wrong(60))
    between.wrong[PODS] = always(wrong(60))
    reading = [each for each in between.told() if each["area"] == "reading"]
    named = sum(1 + each["more"] for each in reading if each["object"] != "further objects")
    assert 50 <= named <= 51  # one that is read alone is always named
    (further,) = [each for each in reading if each["object"] == "further objects"]
    assert "there are more than 50" in further["problem"]


@pytest.mark.remuda_rule("EXT-150", "EXT-156")
@pytest.mark.parametrize("path", ["/version", "/apis", "/api/v1"])
@pytest.mark.parametrize("body", [b"\xff", b'{"gitVersion": "\xff", "groups": [{"name": "\xff"}]}'])
def test_a_server_that_cannot_say_what_it_has_is_one_line(
    between: Between, path: str, body: bytes
) -> None:
    between.wrong[path] = always(body)
    if path == "/api/v1" and body.startswith(b"{"):
        between.told()  # it has no kinds of the core, which is a finding
        return
    with pytest.raises(UsageError, match="not what an API server answers") as caught:
        between.told()
    assert "\n" not in str(caught.value)


@pytest.mark.remuda_rule("EXT-156")
def test_a_server_that_goes_away_in_the_middle_is_told(between: Between) -> None:
    def broken(out: BufferedIOBase, _: Mapping[str, str]) -> None:
        out.write(b"HTTP/1.1 200 x\r\ncontent-length: 1000\r\n\r\n{")

    between.wrong[PODS] = broken
    assert "in the middle of an answer" in unread(between.told(), "Pods")


@pytest.mark.remuda_rule("EXT-151", "EXT-156")
def test_a_redirect_is_not_followed(between: Between, fake: FakeServer) -> None:
    elsewhere = f"location: {between.address}/stolen"
    for status in (301, 302, 307, 308):
        between.wrong[PODS] = always(b"", status, elsewhere)
        assert f": {status} " in unread(between.told(), "Pods")
    assert "GET /stolen" not in between.asked


@pytest.mark.remuda_rule("EXT-156")
def test_a_server_that_wants_to_be_asked_much_later_is_not_waited_for(between: Between) -> None:
    between.wrong[PODS] = always(b"", 429, "retry-after: 99999")
    begun = time.monotonic()
    assert ": 429 " in unread(between.told(), "Pods")
    assert time.monotonic() - begun < 60
    assert between.asked.count(f"GET {PODS}") == 1


@pytest.mark.remuda_rule("EXT-150")
def test_texts_of_the_server_do_not_reach_the_terminal(between: Between) -> None:
    evil = "\x1b[2J\u202e\x9b31m\n\r"
    version = json.dumps({"gitVersion": f"v1.30.0{evil}" + "x" * 10_000})
    between.wrong["/version"] = always(version.encode())
    items = [
        pod_manifest(f"p{evil}", queue="", app="", scheduler=evil),
        {"metadata": {"name": evil, "namespace": evil}, "spec": 7},
    ]
    between.wrong[PODS] = always(page(items))
    between.wrong[NAMESPACES] = always(json.dumps({"message": evil, "reason": evil}).encode(), 500)
    for text in (between.text(), *(_texts(between.text(json=True)))):
        assert not any(each in text for each in "\x1b\u202e\x9b\r")
        assert max(map(len, text.splitlines() or [""])) < 1_000


def _texts(report: str) -> Iterator[str]:
    """All texts in a report."""

    def walk(found: Any) -> Iterator[str]:
        if isinstance(found, str):
            yield found
        for each in found.values() if isinstance(found, dict) else ():
            yield from walk(each)
        for each in found if isinstance(found, list) else ():
            yield from walk(each)

    return walk(json.loads(report))


@pytest.mark.remuda_rule("EXT-151")
def test_nothing_but_reviews_is_written_whatever_names_objects_have(
    between: Between, api: Api
) -> None:
    """A name in a webhook becomes a part of a path."""
    path = f"{sound.MUTATING}/remuda-admission"
    found = api.get(path)
    for each in found["webhooks"]:
        each["clientConfig"]["service"]["name"] = "x?watch=true&y=/../../.."
    between.wrong[sound.MUTATING] = always(page([found]))
    told = between.told()
    reviews = "POST /apis/authorization.k8s.io/v1/"
    assert {each for each in between.asked if not each.startswith("GET ")} == {
        each for each in between.asked if each.startswith(reviews)
    }
    services = {each.rpartition("/")[2] for each in between.asked if "/services/" in each}
    assert services == {"x%3Fwatch%3Dtrue%26y%3D%2F..%2F..%2F..", sound.SERVICE}
    assert any("which does not exist" in each["problem"] for each in told)


@pytest.mark.remuda_rule("EXT-154")
@pytest.mark.parametrize(
    "bundle",
    [
        base64.b64encode(b"hello").decode(),
        "%%% not base64",
        "\u65e5",
        base64.b64encode(
            b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
        ).decode(),
        "of another version",
    ],
)
def test_a_bundle_without_certificates_is_an_error(between: Between, api: Api, bundle: str) -> None:
    if bundle == "of another version":
        lines = sound.bundle().splitlines()
        content = base64.b64decode(b"".join(lines[1:-1])).replace(
            b"\xa0\x03\x02\x01\x02", b"\xa0\x03\x02\x01\x07", 1
        )
        inner = base64.encodebytes(content)
        text = b"-----BEGIN CERTIFICATE-----\n" + inner + b"-----END CERTIFICATE-----\n"
        bundle = base64.b64encode(text).decode()
    found = api.get(f"{sound.MUTATING}/remuda-admission")
    for each in found["webhooks"]:
        each["clientConfig"]["caBundle"] = bundle
    between.wrong[sound.MUTATING] = always(page([found]))
    (one,) = [each for each in between.told() if "caBundle" in each["problem"]]
    assert (one["severity"], one["problem"]) == ("error", "caBundle holds no certificates in PEM")


@pytest.mark.remuda_rule("EXT-154")
def test_a_webhook_that_is_not_asked_about_pods_keeps_none_from_starting(
    between: Between, api: Api
) -> None:
    plural = f"{sound.HOOKS}/validatingwebhookconfigurations"
    found = api.get(f"{plural}/remuda-admission")
    for each in found["webhooks"]:
        each |= {"failurePolicy": "Fail", "namespaceSelector": {}}
    between.wrong[plural] = always(page([found]))
    assert [each for each in between.told() if "failurePolicy" in each["problem"]] == []
    for each in found["webhooks"]:
        each["rules"] = [{"resources": ["*"]}]
    between.wrong[plural] = always(page([found]))
    assert [each for each in between.told() if "failurePolicy" in each["problem"]] != []


@pytest.mark.remuda_rule("EXT-150", "EXT-151")
def test_no_secret_is_in_a_report_or_a_log(
    between: Between, api: Api, caplog: pytest.LogCaptureFixture
) -> None:
    """Tokens, and what is in Secrets, variables of deployments, and keys that nobody reads."""
    secret = "hush-7f3a"
    api.create(
        f"{NAMESPACES}/{sound.SPACE}/secrets",
        {"metadata": {"name": "s"}, "data": {"k": base64.b64encode(secret.encode()).decode()}},
    )
    api.merge(f"{sound.MAPS}/yunikorn-configs", {"data": {"nobody.reads": secret}})
    variables = [{"name": "PASSWORD", "value": secret}]
    twin = sound.deployment("twin", image="remuda:1", args=["kubernetes"], space=sound.SPACE)
    twin["spec"]["template"]["spec"]["containers"][0]["env"] = variables
    api.create(sound.DEPLOYMENTS, twin)
    between.wrong[PODS] = always(b"", 401)
    with caplog.at_level(logging.DEBUG):
        printed = between.text() + between.text(json=True)
    assert "nobody reads the key 'nobody.reads'" in printed
    assert "secrets" not in " ".join(between.asked)
    assert secret not in printed + caplog.text
