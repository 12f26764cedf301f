"""Whatever is passed to the Python API, it raises its own errors, and the core stays sound."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from remuda import Allocation, Ask, Queue, Release, RemudaError, Scheduler, TaskGroup
from remuda.library.stepped import Stepped

TEXTS = st.sampled_from(
    ["", "job", "task", "n1", "root.a", "a", "g", "\0", "\ud800", "é", "x" * 1_025]
)
LEAF: st.SearchStrategy[Any] = st.one_of(
    st.none(),
    st.booleans(),
    st.sampled_from([-(2**63), -1, 0, 1, 2, 2**31, 2**63, 10**400]),
    st.sampled_from([0.5, -1.0, float("nan"), float("inf"), 1e300]),
    TEXTS,
    st.sampled_from(["4", "500m", "8Gi", "8GiB", "Soft", "Hard", "partitions: []", "- {"]),
    st.binary(max_size=3),
    st.sampled_from([Path("a\0b"), Path("/nonexistent/file")]),
)
AMOUNTS: st.SearchStrategy[Any] = st.dictionaries(
    st.sampled_from(["vcore", "memory"]), st.sampled_from(["1", "2", 500, 0, -1, 2**62]), max_size=2
)


def records(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Records, lists and mappings of whatever there is."""
    return st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.one_of(TEXTS, st.integers(0, 1)), inner, max_size=3),
        st.builds(Ask, inner, inner, inner),
        st.builds(Allocation, inner, inner, inner, inner, inner),
        st.builds(Release, inner, inner, inner, inner),
        st.builds(TaskGroup, inner, inner, inner, inner, inner),
        st.builds(Queue, inner, inner, inner, inner, inner, inner),
    )


ANYTHING = st.one_of(st.recursive(LEAF, records, max_leaves=6), AMOUNTS)
SENSIBLE = st.one_of(TEXTS, AMOUNTS, ANYTHING)
CALLS = st.sampled_from(
    [
        ("add_node", 2, ("attributes",)),
        ("add_nodes", 1, ()),
        ("drain_node", 1, ()),
        ("remove_node", 1, ()),
        ("resume_node", 1, ()),
        ("submit", 1, ("queue", "user", "groups", "tags", "task_groups", "gang_scheduling_style")),
        ("submit", 1, ("task_groups", "execution_timeout_ms")),
        ("ask", 3, ("max_allocations", "priority", "task_group", "tags", "allow_preempt_other")),
        ("ask", 3, ("execution_timeout_ms",)),
        ("release", 1, ()),
        ("confirm", 1, ()),
        ("remove_application", 1, ()),
        ("update_configuration", 1, ()),
        ("pending", 1, ()),
        ("allocations", 1, ()),
        ("explain", 1, ()),
        ("step", 1, ()),
    ]
)


@settings(max_examples=200)
@given(data=st.data())
def test_nothing_but_errors_of_ours_comes_out(data: st.DataObject) -> None:
    scheduler = Scheduler(Queue("a"))
    scheduler.add_node("n1", {"vcore": "4"})
    scheduler.submit("job", queue="root.a")
    scheduler.ask("job", "task", {"vcore": "3"}, max_allocations=2)
    scheduler.step()
    engine = scheduler._engine
    assert isinstance(engine, Stepped)
    for name, count, keywords in data.draw(st.lists(CALLS, min_size=1, max_size=6)):
        arguments = [data.draw(SENSIBLE) for _ in range(count)]
        options = {key: data.draw(SENSIBLE) for key in keywords if data.draw(st.booleans())}
        with suppress(RemudaError):
            getattr(scheduler, name)(*arguments, **options)
        engine._driver.check()
    scheduler.step(3_600)
    engine._driver.check()
    for ask in scheduler.pending():
        assert str(scheduler.explain(ask))


@settings(max_examples=100)
@given(
    config=SENSIBLE,
    options=st.dictionaries(
        st.sampled_from(["confirm", "record", "reservation_delay_seconds"]), SENSIBLE
    ),
)
def test_a_scheduler_is_made_or_refused(config: Any, options: dict[str, Any]) -> None:
    with suppress(RemudaError):
        Scheduler(config, **options).step()
