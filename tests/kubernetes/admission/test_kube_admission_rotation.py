"""Certificates follow each other without a moment at which a replica serves what nobody trusts."""

from __future__ import annotations

import base64
import random
import ssl
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from remuda_kubernetes.admission import webhooks
from remuda_kubernetes.admission.pairs import (
    Pair,
    PairError,
    check_pair,
    ends,
    new_pair,
    serving_context,
    still_valid,
)
from remuda_kubernetes.admission.rotation import RETAIN, SETTLE, Stored, next_state, with_newer
from remuda_kubernetes.admission.store import secret_of, stored_of
from remuda_kubernetes.admission.webhooks import NAME_LABEL, PLURALS, Target, merged, trusted

NOW = datetime(2026, 11, 28, 5, 0, tzinfo=UTC)
NAMES = ["hook.yunikorn.svc", "hook.yunikorn", "hook"]
DAY = timedelta(days=1)
State = Callable[..., Stored]

# Making pairs takes time; each is made once. The number stands for the order in which they come.
_MADE: dict[tuple[tuple[str, ...], datetime], Pair] = {}


def make(names: Sequence[str], now: datetime) -> Pair:
    key = (tuple(names), now)
    if key not in _MADE:
        _MADE[key] = new_pair(names, now)
    return _MADE[key]


def step(stored: Stored | None, registered: bytes, now: datetime) -> Stored:
    return next_state(stored, registered, names=NAMES, now=now, make=make)


def test_the_first_certificate_is_for_the_names_and_is_trusted_by_its_authority() -> None:
    first = step(None, b"", NOW)
    check_pair(first.current, NAMES, NOW)
    assert first.authorities == first.current.authority
    assert first.coming is None
    assert step(first, first.authorities, NOW + DAY) is first


def test_a_new_one_comes_30_days_before_the_end_and_waits_until_it_is_trusted() -> None:
    first = step(None, b"", NOW)
    due = NOW + timedelta(days=60)
    assert step(first, first.authorities, due - timedelta(seconds=1)) is first
    with_coming = step(first, first.authorities, due)
    assert with_coming.current == first.current
    assert with_coming.coming is not None
    assert with_coming.authorities == first.authorities + with_coming.coming.authority
    # Not registered: nothing moves, however long it takes.
    assert step(with_coming, first.authorities, due + 20 * DAY) is with_coming
    seen = step(with_coming, with_coming.authorities, due)
    assert (seen.current, seen.trusted_since) == (first.current, due)
    assert step(seen, seen.authorities, due + SETTLE - timedelta(seconds=1)) is seen
    moved = step(seen, seen.authorities, due + SETTLE)
    assert (moved.current, moved.coming) == (with_coming.coming, None)
    assert moved.authorities == with_coming.authorities
    # The others have a day to move on.
    kept = due + SETTLE + RETAIN
    assert step(moved, moved.authorities, kept - timedelta(seconds=1)) is moved
    alone = step(moved, moved.authorities, kept)
    assert alone.authorities == alone.current.authority


def test_a_registration_that_goes_back_begins_the_wait_again() -> None:
    first = step(None, b"", NOW)
    due = NOW + timedelta(days=60)
    coming = step(first, first.authorities, due)
    seen = step(coming, coming.authorities, due)
    lost = step(seen, first.authorities, due + SETTLE / 2)
    assert lost.trusted_since is None
    again = step(lost, coming.authorities, due + SETTLE)
    assert again.trusted_since == due + SETTLE


def of_odd_curve() -> bytes:
    """A key in PEM on a curve that no library has: only its name differs from that of P-256."""
    plain = ec.generate_private_key(ec.SECP256R1()).private_bytes(
        Encoding.DER, PrivateFormat.PKCS8, NoEncryption()
    )
    known, odd = bytes.fromhex("06082a8648ce3d030107"), bytes.fromhex("06082a8648ce3d03017f")
    assert plain.count(known) == 1
    text = base64.encodebytes(plain.replace(known, odd))
    return b"-----BEGIN PRIVATE KEY-----\n" + text + b"-----END PRIVATE KEY-----\n"


@pytest.mark.parametrize("fault", ["ended", "names", "key", "curve", "unreadable"])
def test_one_that_cannot_serve_is_replaced_at_once(fault: str) -> None:
    first = step(None, b"", NOW)
    broken, now = first, NOW
    if fault == "ended":
        now = NOW + timedelta(days=91)
    elif fault == "names":
        other = make(["other.yunikorn.svc"], NOW)
        broken = Stored(other, NOW, other.authority)
    elif fault == "key":
        broken = Stored(Pair(first.current.certificate, make(["x"], NOW).key), NOW, b"")
    elif fault == "curve":
        broken = Stored(Pair(first.current.certificate, of_odd_curve()), NOW, b"")
    else:
        broken = Stored(Pair(b"no", b"no"), NOW, b"no")
    with pytest.raises(PairError):
        check_pair(broken.current, NAMES, now)
    new = step(broken, broken.authorities, now)
    check_pair(new.current, NAMES, now)
    assert new.current.authority in new.authorities


@pytest.mark.parametrize("seed", range(20))
def test_what_is_served_is_always_trusted(seed: int) -> None:
    """Leaders come and go, steps and registrations interleave in any order, for half a year."""
    chance = random.Random(seed)
    now = NOW
    stored = step(None, b"", now)
    registered = stored.authorities
    past = [stored]
    rotations = 0
    while now < NOW + 180 * DAY:
        now += timedelta(seconds=chance.choice([1, 20, 45, 61, 600, 20_000, 86_400, 172_800]))
        move = chance.choice(["step", "register", "late", "read"])
        if now >= ends(stored.current) - DAY:
            # Nobody registers for a month: there is nothing to be done about that.
            move = "register" if stored.coming is not None else "step"
        before = stored
        if move == "step":
            stored = step(stored, registered, now)
            past.append(stored)
        elif move == "register":
            registered = with_newer(stored.authorities, registered)
        elif move == "late":
            # A leader that was stopped goes on with what it knew.
            registered = with_newer(chance.choice(past[-6:]).authorities, registered)
        else:
            stored = stored_again(stored)
        assert stored.current.authority in still_valid(registered, now)
        assert stored.current.authority in still_valid(stored.authorities, now)
        if stored.current != before.current:
            rotations += 1
            # Replicas that still serve with the one before are trusted.
            assert before.current.authority in still_valid(registered, now)
    assert rotations >= 2


def stored_again(stored: Stored) -> Stored:
    found = stored_of(secret_of(stored, None, "yunikorn"))
    assert found == stored
    return found


def test_a_secret_keeps_what_others_wrote_in_it() -> None:
    first = step(None, b"", NOW)
    found = {"type": "Opaque", "metadata": {"resourceVersion": "7", "labels": {"a": "b"}}}
    secret = secret_of(first, found, "yunikorn")
    assert secret["metadata"]["resourceVersion"] == "7"
    assert secret["metadata"]["labels"] == {"a": "b"}
    assert base64.b64decode(secret["data"]["ca.crt"]) == first.authorities


@pytest.mark.parametrize(
    "spoil",
    [
        lambda secret: secret.pop("data"),
        lambda secret: secret["data"].pop("tls.key"),
        lambda secret: secret["data"].update({"tls.crt": "AAAA"}),
        lambda secret: secret["data"].update({"tls.crt": "%"}),
        lambda secret: secret["metadata"]["annotations"].clear(),
        lambda secret: secret["metadata"]["annotations"].update({"remuda/in-use-since": "x"}),
    ],
)
def test_a_secret_that_cannot_be_read_is_none(spoil: Callable[..., object]) -> None:
    secret = secret_of(step(None, b"", NOW), None, "yunikorn")
    spoil(secret)
    assert stored_of(secret) is None


def test_a_certificate_serves_tls_and_no_key_of_the_authority_is_kept() -> None:
    pair = new_pair(["localhost", "127.0.0.1", "::1"], datetime.now(UTC))
    assert isinstance(serving_context(pair), ssl.SSLContext)
    assert pair.key.count(b"PRIVATE KEY") == 2
    with pytest.raises(PairError, match="no certificate and its key in PEM"):
        serving_context(Pair(pair.certificate, new_pair(["a"], NOW).key))


# ------------------------------------------------------------------------- registration

TARGET = Target("yunikorn", "hook", authorities=b"one")


@pytest.mark.parametrize("plural", sorted(PLURALS))
def test_what_is_registered_is_written_once(plural: str) -> None:
    first = merged(None, plural, TARGET)
    assert first is not None
    assert trusted(first) == b"one"
    assert merged(first, plural, TARGET) is None
    changed = merged(first, plural, Target("yunikorn", "hook", authorities=b"one two"))
    assert changed is not None
    assert trusted(changed) == b"one two"


@pytest.mark.parametrize("plural", sorted(PLURALS))
def test_what_others_wrote_beside_the_webhooks_stays(plural: str) -> None:
    first = merged(None, plural, TARGET)
    assert first is not None
    found = {**first, "metadata": {"name": "x", "resourceVersion": "9", "annotations": {"a": "b"}}}
    found["webhooks"] = [{**each, "timeoutSeconds": 30} for each in first["webhooks"]]
    assert merged(found, plural, TARGET) == {**first, "metadata": found["metadata"]}


@pytest.mark.parametrize("plural", sorted(PLURALS))
def test_authorities_that_another_program_writes_stay(plural: str) -> None:
    left = Target("yunikorn", "hook", authorities=None)
    first = merged(None, plural, left)
    assert first is not None
    assert trusted(first) == b""
    for each in first["webhooks"]:
        each["clientConfig"]["caBundle"] = base64.b64encode(b"theirs").decode()
    assert merged(first, plural, left) is None


def test_system_namespaces_are_exempt_and_failures_are_ignored_by_default() -> None:
    for each in webhooks.wanted("mutatingwebhookconfigurations", TARGET):
        assert each["failurePolicy"] == "Ignore"
        assert each["sideEffects"] == "None"
        assert each["timeoutSeconds"] <= 5
        names = each["namespaceSelector"]["matchExpressions"][0]
        assert names == {
            "key": NAME_LABEL,
            "operator": "NotIn",
            "values": ["kube-system", "yunikorn"],
        }
    closed = Target("yunikorn", "hook", failure_policy="Fail")
    for plural, policy in (("mutating", "Fail"), ("validating", "Ignore")):
        hooks = webhooks.wanted(f"{plural}webhookconfigurations", closed)
        assert {each["failurePolicy"] for each in hooks} == {policy}
