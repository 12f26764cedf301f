"""What one placement rule gives (chapter 20 sections 2 to 5)."""

from __future__ import annotations

import pytest

from remuda.config.schema import NameFilter, PlacementRuleConfig
from remuda.core.model.placement_rule import NameMatch
from tests.unit.core.door import Caller, leaf, parent
from tests.unit.core.placing import allow, paths, place, refused, rule

PROVIDED = rule("provided")
CREATING = rule("provided", create=True)
BY_USER = rule("user", create=True)
SPACE = rule("tag", "namespace", create=True)
NO_MATCH = "no placement rule matched"


def by(*rules: PlacementRuleConfig) -> Caller:
    """A parent with a leaf, a leaf, and these rules."""
    return Caller(parent("p", leaf("x")), leaf("a"), placement_rules=rules)


# ------------------------------------------------------------------------------ section 3


@pytest.mark.remuda_rule("PLC-20")
@pytest.mark.parametrize(
    "first, tags",
    [(CREATING, {}), (SPACE, {}), (SPACE, {"namespace": ""}), (SPACE, {"other": "dev"})],
)
def test_a_rule_without_input_gives_way_to_the_next(
    first: PlacementRuleConfig, tags: dict[str, str]
) -> None:
    assert place(by(first, rule("fixed", "root.a")), tags=tags) == "root.a"


@pytest.mark.remuda_rule("PLC-20")
def test_a_missing_input_counts_before_the_filter() -> None:
    # The filter of the second rule lets nobody pass, and so does the missing tag of the first.
    door = by(rule("tag", "t", create=True, only=allow("bob")), BY_USER)
    assert place(door, user="ann") == "root.ann"


@pytest.mark.remuda_rule("PLC-21")
def test_a_user_whom_the_filter_refuses_goes_to_the_next_rule() -> None:
    door = by(rule("provided", only=allow("bob")), rule("fixed", "root.p.x"))
    assert place(door, "root.a", user="bob") == "root.a"
    assert place(door, "root.a", user="ann") == "root.p.x"


@pytest.mark.remuda_rule("PLC-22")
@pytest.mark.parametrize(
    "name, queue, tag", [("provided", "root.q.z", ""), ("tag", "", "root.q.z")]
)
def test_a_qualified_value_skips_the_parent_and_keeps_its_dots(
    name: str, queue: str, tag: str
) -> None:
    door = by(rule(name, "t", create=True, above=rule("fixed", "root.p")))
    assert place(door, queue, tags={"t": tag}) == "root.q.z"


@pytest.mark.remuda_rule("PLC-23")
def test_an_unqualified_value_goes_below_what_the_parent_gives() -> None:
    door = by(rule("provided", create=True, above=rule("fixed", "root.p")))
    assert place(door, "team") == "root.p.team"


@pytest.mark.remuda_rule("PLC-23")
def test_without_the_parents_match_there_is_no_match() -> None:
    above = rule("tag", "missing", create=True)
    assert refused(by(rule("user", create=True, above=above)))


@pytest.mark.remuda_rule("PLC-23")
def test_a_parent_has_its_own_filter() -> None:
    above = rule("fixed", "root.p", only=allow("bob"))
    door = by(rule("user", create=True, above=above))
    assert place(door, user="bob") == "root.p.bob"
    assert refused(door, user="ann")


@pytest.mark.remuda_rule("PLC-23", "PLC-29")
def test_a_chain_of_three_levels() -> None:
    outer = rule("fixed", "root.p")
    middle = rule("tag", "namespace", create=True, above=outer)
    door = by(rule("user", create=True, above=middle))
    assert place(door, tags={"namespace": "dev"}) == "root.p.dev.ann"


@pytest.mark.remuda_rule("PLC-24", "D-P1")
def test_root_as_parent_is_the_root_queue() -> None:
    door = by(rule("user", create=True, above=rule("fixed", "root")))
    assert place(door, user="u") == "root.u"


@pytest.mark.remuda_rule("PLC-25", "PLC-55")
def test_a_leaf_as_parent_is_an_error_that_ends_placement() -> None:
    door = by(rule("user", create=True, above=rule("fixed", "root.a")), rule("fixed", "root.p.x"))
    found = place(door)
    assert "parent rule returned a leaf queue: root.a" in found
    assert "failed to place application" in found


@pytest.mark.remuda_rule("PLC-25")
def test_the_error_of_a_parents_parent_goes_up() -> None:
    middle = rule("tag", "t", create=True, above=rule("fixed", "root.a"))
    door = by(rule("user", create=True, above=middle))
    assert "parent rule returned a leaf queue: root.a" in place(door, tags={"t": "x"})


@pytest.mark.remuda_rule("PLC-26")
def test_without_parent_rule_the_parent_is_root() -> None:
    assert place(by(BY_USER), user="bob") == "root.bob"


@pytest.mark.remuda_rule("PLC-27", "PLC-42")
@pytest.mark.parametrize(
    "queue, made",
    [
        ("a.b", "root.a_dot_b"),
        ("name...name", "root.name_dot__dot__dot_name"),
        (".a.", "root._dot_a_dot_"),
    ],
)
def test_dots_of_an_unqualified_value_are_replaced(queue: str, made: str) -> None:
    assert place(by(CREATING), queue) == made


@pytest.mark.remuda_rule("PLC-28")
def test_without_create_the_queue_has_to_exist() -> None:
    door = by(PROVIDED)
    assert place(door, "root.p.x") == "root.p.x"
    assert refused(door, "root.p.y")


@pytest.mark.remuda_rule("PLC-29")
def test_each_level_has_its_own_create_flag() -> None:
    outer = rule("tag", "namespace", create=False)
    door = by(rule("user", create=True, above=outer))
    assert place(door, tags={"namespace": "p"}) == "root.p.ann"
    assert refused(door, tags={"namespace": "new"})
    creating = by(rule("user", create=False, above=rule("fixed", "root.new", create=True)))
    assert refused(creating)


# ------------------------------------------------------------------------------ section 4


@pytest.mark.remuda_rule("PLC-30")
def test_the_provided_rule_takes_the_requested_queue() -> None:
    assert place(by(PROVIDED), "root.a") == "root.a"


@pytest.mark.remuda_rule("PLC-31")
@pytest.mark.parametrize(
    "user, queue",
    [("bob", "root.bob"), ("root.x", "root.root_dot_x"), ("root", "root.root")],
)
def test_the_user_rule_never_gives_a_qualified_name(user: str, queue: str) -> None:
    assert place(by(BY_USER), "root.a", user=user) == queue


@pytest.mark.remuda_rule("PLC-32", "D-P2")
@pytest.mark.parametrize(
    "value, queue",
    [
        ("root.p.x", "root.p.x"),
        ("a", "root.a"),
        ("rootbeer", "root.rootbeer"),
        ("rootbeer.a", "root.rootbeer.a"),
    ],
)
def test_a_fixed_value_is_qualified_only_below_root(value: str, queue: str) -> None:
    assert place(by(rule("fixed", value, create=True))) == queue


@pytest.mark.remuda_rule("PLC-32")
def test_a_fixed_root_is_a_parent_and_never_taken() -> None:
    assert refused(by(rule("fixed", "root", create=True)))


@pytest.mark.remuda_rule("PLC-33")
def test_dots_of_a_fixed_value_are_hierarchy() -> None:
    door = by(rule("fixed", "q.b", create=True))
    assert place(door) == "root.q.b"
    assert "root.q" in paths(door)


@pytest.mark.remuda_rule("PLC-34", "PLC-87")
@pytest.mark.parametrize("key", ["namespace", "Namespace", "NAMESPACE"])
def test_names_of_tags_are_compared_ignoring_case(key: str) -> None:
    assert place(by(SPACE), tags={key: "dev"}) == "root.dev"


@pytest.mark.remuda_rule("PLC-2")
def test_a_rule_reads_nothing_but_its_own_input() -> None:
    door = by(SPACE, BY_USER)
    assert place(door, "root.a", tags={"namespace": "dev"}) == "root.dev"
    assert place(door, "root.a") == "root.ann"


@pytest.mark.remuda_rule("PLC-15")
def test_rules_know_nothing_of_each_other() -> None:
    first = rule("tag", "t", create=False)
    door = by(first, BY_USER)
    assert place(door, tags={"t": "unknown"}) == "root.ann"
    assert place(door, tags={"t": "ann"}) == "root.ann"


# ------------------------------------------------------------------------------ section 5


@pytest.mark.remuda_rule("PLC-40")
def test_queues_are_looked_up_and_made_in_lower_case() -> None:
    door = by(CREATING)
    assert place(door, "root.P.X") == "root.p.x"
    assert place(door, "root.MiXed") == "root.mixed"
    assert place(door, "root.mIxED") == "root.mixed"


@pytest.mark.remuda_rule("PLC-41", "D-P4")
@pytest.mark.parametrize("queue", ["ROOT.X", "Root.x", "root.X"])
def test_whether_a_value_is_qualified_does_not_depend_on_case(queue: str) -> None:
    assert place(by(CREATING), queue) == "root.x"


@pytest.mark.remuda_rule("PLC-41")
@pytest.mark.parametrize("queue", ["root", "ROOT"])
def test_the_mere_word_root_is_an_ordinary_name(queue: str) -> None:
    assert place(by(CREATING), queue) == "root.root"
    assert place(by(SPACE), tags={"namespace": queue}) == "root.root"


@pytest.mark.remuda_rule("PLC-42")
@pytest.mark.parametrize(
    "user, queue",
    [
        ("u@x.com", "root.u@x_dot_com"),
        ("system:serviceaccount:ns:sa", "root.system:serviceaccount:ns:sa"),
        ("a/b#c", "root.a/b#c"),
        ("u" * 64, "root." + "u" * 64),
    ],
)
def test_names_that_later_releases_allow_are_made(user: str, queue: str) -> None:
    assert place(by(BY_USER), user=user) == queue


@pytest.mark.remuda_rule("PLC-42", "PLC-43", "PLC-55", "PLC-65")
@pytest.mark.parametrize(
    "queue",
    ["u" * 65, "a" * 60 + ".b", "root.", "root..z", "root.a b", "b$", "root.x.", "ü"],
)
def test_a_name_that_no_queue_may_have_is_an_error(queue: str) -> None:
    door = by(CREATING, rule("fixed", "root.a"))
    found = place(door, queue)
    assert "failed to place application" in found
    assert "invalid queue name, max 64 characters" in found
    assert paths(door) == ["root", "root.a", "root.p", "root.p.x"]


@pytest.mark.remuda_rule("PLC-42")
def test_a_bad_name_is_an_error_before_the_parent_is_asked() -> None:
    door = by(rule("provided", create=True, above=rule("fixed", "root.a")))
    assert "invalid queue name" in place(door, "b!")
    assert "leaf queue" in place(door, "b")


@pytest.mark.remuda_rule("PLC-43")
def test_users_whose_names_collide_share_a_queue() -> None:
    door = by(BY_USER)
    assert place(door, user="a.b") == place(door, user="a_dot_b") == "root.a_dot_b"


@pytest.mark.remuda_rule("PLC-48")
def test_a_filter_that_forgets_names_gives_the_same_verdicts_again() -> None:
    match = NameMatch(NameFilter(pattern="^a+$"))
    names = [f"a{number}" for number in range(1_500)] + ["a" * length for length in range(1, 600)]
    expected = [name.strip("a") == "" for name in names]
    for _ in range(3):
        assert [match.hits(name) for name in names] == expected
        assert [match.hits(name) for name in names[:9] + names[:9]] == 2 * expected[:9]
