"""Lists and events become changes: differences only, whatever comes twice, late or not at all."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from remuda_kubernetes.api.known import TOMBSTONES, Known, precedes
from remuda_kubernetes.objects.changes import Change
from remuda_kubernetes.objects.kinds import POD
from remuda_kubernetes.objects.metadata import ObjectMeta
from remuda_kubernetes.objects.pods import Pod


def pod(name: str, version: int, uid: str = "") -> Pod:
    return Pod(
        metadata=ObjectMeta(
            name=name, namespace="n", uid=uid or f"u-{name}", resource_version=str(version)
        )
    )


def listed(known: Known[Pod], *pages: list[Pod]) -> list[Change]:
    known.begin_list()
    changes = [change for page in pages for change in known.listed(page)]
    return changes + known.end_list()


def test_a_first_list_is_all_new() -> None:
    known: Known[Pod] = Known(POD)
    a, b = pod("a", 1), pod("b", 2)
    assert listed(known, [a], [b]) == [Change(POD, None, a), Change(POD, None, b)]


def test_a_second_list_tells_differences_only() -> None:
    known: Known[Pod] = Known(POD)
    a, b, c = pod("a", 1), pod("b", 2), pod("c", 3)
    listed(known, [a, b, c])
    b2, d = pod("b", 7), pod("d", 6)
    assert listed(known, [pod("a", 1)], [b2, d]) == [
        Change(POD, b, b2),
        Change(POD, None, d),
        Change(POD, c, None),
    ]
    assert known.objects["n/a"] is a


def test_a_list_that_breaks_off_deletes_nothing() -> None:
    known: Known[Pod] = Known(POD)
    listed(known, [pod("a", 1), pod("b", 2)])
    known.begin_list()
    known.listed([pod("a", 1)])
    assert listed(known, [pod("b", 2), pod("a", 1)]) == []


def test_an_object_made_anew_under_its_name_is_two_changes() -> None:
    known: Known[Pod] = Known(POD)
    old, new, newer = pod("a", 1, "u1"), pod("a", 5, "u2"), pod("a", 9, "u3")
    listed(known, [old])
    assert listed(known, [new]) == [Change(POD, old, None), Change(POD, None, new)]
    assert known.event("ADDED", newer) == [Change(POD, new, None), Change(POD, None, newer)]


def test_an_unreadable_object_stays_as_it_was_known() -> None:
    known: Known[Pod] = Known(POD)
    a = pod("a", 1)
    listed(known, [a])
    known.begin_list()
    known.unreadable(pod("a", 8))
    assert known.end_list() == []
    assert known.objects == {"n/a": a}


def test_events_twice_or_late_change_nothing() -> None:
    known: Known[Pod] = Known(POD)
    first, second = pod("a", 3), pod("a", 5)
    assert known.event("ADDED", first) == [Change(POD, None, first)]
    assert known.event("ADDED", pod("a", 3)) == []
    assert known.event("MODIFIED", second) == [Change(POD, first, second)]
    assert known.event("MODIFIED", pod("a", 4)) == []
    assert known.event("DELETED", pod("a", 4)) == []
    assert known.event("DELETED", pod("a", 6)) == [Change(POD, second, None)]
    assert known.event("DELETED", pod("a", 6)) == []
    assert known.event("MODIFIED", pod("a", 5)) == []
    assert known.objects == {}


def test_a_late_deletion_of_the_one_before_leaves_the_one_after() -> None:
    known: Known[Pod] = Known(POD)
    new = pod("a", 9, "u2")
    known.event("ADDED", pod("a", 3, "u1"))
    known.event("ADDED", new)
    assert known.event("DELETED", pod("a", 8, "u1")) == []
    assert known.event("MODIFIED", pod("a", 7, "u1")) == []
    assert known.objects == {"n/a": new}


def test_an_object_that_matches_the_selector_again_comes_again() -> None:
    known: Known[Pod] = Known(POD)
    known.event("ADDED", pod("a", 3))
    known.event("DELETED", pod("a", 4))
    back = pod("a", 5)
    assert known.event("ADDED", back) == [Change(POD, None, back)]


def test_the_deleted_objects_that_are_remembered_are_bounded() -> None:
    known: Known[Pod] = Known(POD)
    for number in range(TOMBSTONES + 100):
        known.event("ADDED", pod(f"p{number}", 2 * number + 1))
        known.event("DELETED", pod(f"p{number}", 2 * number + 2))
    assert len(known._tombstones) == TOMBSTONES


def test_only_numbers_say_which_version_is_older() -> None:
    assert precedes("9", "10")
    assert not precedes("10", "9")
    assert not precedes("abc", "abd")
    assert not precedes("", "1")
    assert not precedes("٣", "4")


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["ADDED", "MODIFIED", "DELETED"]),
        st.sampled_from("abc"),
    ),
    max_size=30,
)


@given(STEPS, st.randoms(use_true_random=False))
def test_what_was_delivered_adds_up_to_what_is_there(
    steps: list[tuple[str, str]], chance: object
) -> None:
    """A watcher that applies the changes has the objects of the server, duplicates or not."""
    known: Known[Pod] = Known(POD)
    server: dict[str, Pod] = {}
    mirror: dict[str, Pod] = {}
    births = 0
    for version, (event, name) in enumerate(steps, start=1):
        key = f"n/{name}"
        if event == "DELETED" and key not in server:
            continue
        births += event != "DELETED" and key not in server
        uid = server[key].uid if key in server else f"u{births}"
        item = pod(name, version, uid)
        if event == "DELETED":
            del server[key]
        else:
            server[key] = item
        for change in known.event(event, item) + known.event(event, item):
            assert change.old == mirror.pop(key, None)
            if change.new is not None:
                assert isinstance(change.new, Pod)
                mirror[key] = change.new
    assert mirror == server == known.objects
