"""The museum of the reference's defects: texts that mean something else than they say."""

from __future__ import annotations

import pytest

from remuda.config.load import load_configuration
from remuda.config.schema import PlacementRuleConfig, TemplateConfig
from remuda.core.messages import effects as e
from tests.unit.config.verdicts import broken, partition_text, queue, queue_text
from tests.unit.core.door import CREATING, Caller, leaf, of, parent
from tests.unit.core.placing import (
    FORCE,
    RECOVERY,
    acl,
    paths,
    place,
    refused,
    rule,
    submit,
)


def by(*rules: PlacementRuleConfig) -> Caller:
    """A parent with a leaf, a leaf, and these placement rules."""
    return Caller(parent("p", leaf("x")), leaf("a"), placement_rules=rules)


@pytest.mark.remuda_rule("CFG-16", "D-C1")
@pytest.mark.parametrize("text", ["-1.5", "18446744073709551616", "5.5"])
def test_a_number_of_applications_is_a_whole_number(text: str) -> None:
    """1.5.1 reads -1.5 as 18446744073709551615 and 5.5 as 5.

    remuda refuses what is no whole number.
    """
    assert broken(queue_text(f"maxapplications: {text}")) == ["CFG-16"]


@pytest.mark.remuda_rule("QUE-6", "CFG-76", "D-C4")
def test_a_maximum_of_zeros_lets_nothing_in() -> None:
    """The reference ignores a maximum of zeros only, so the queue has no limit at all.

    In remuda, nothing is placed there.
    """
    found = queue(queue_text("resources: {max: {vcore: 0}}"))
    door = Caller(found)
    door.node("n1", {"vcore": 10_000})
    door.app("app")
    door.ask("app", "k", {"vcore": 1})
    assert door.place() == []


@pytest.mark.remuda_rule("TPL-7", "D-C11")
def test_a_mistake_in_a_template_is_told() -> None:
    """1.5.1 drops the template and the queue's own maximum without a word.

    remuda refuses the text.
    """
    text = "parent: true, childtemplate: {resources: {max: {memory: x}}}"
    assert broken(queue_text(f"{text}, resources: {{max: {{memory: 10}}}}")) == ["TPL-7"]


@pytest.mark.remuda_rule("CHK-4", "D-C14")
def test_a_property_that_looks_like_a_checksum_can_be_changed() -> None:
    """The reference leaves its value out of the hash, sees no change, and skips the update.

    remuda leaves out only a line of that name at the top level.
    """
    texts = [
        f"partitions:\n- name: default\n  queues:\n  - name: root\n    properties:\n"
        f"      my.checksum: {value}\n"
        for value in ("v1", "v2")
    ]
    one, two = (load_configuration(text).checksum for text in texts)
    assert one != two


@pytest.mark.remuda_rule("CFG-45", "D-C2")
def test_root_may_be_written_in_capitals() -> None:
    """1.5.1 finds such a text valid, and then fails to load it.

    remuda loads it.
    """
    text = partition_text("queues: [{name: ROOT, submitacl: '*', queues: [{name: a}]}]")
    assert broken(text) == []
    (found,) = load_configuration(text).partitions
    assert found.root.name == "root"


@pytest.mark.remuda_rule("PLC-24", "D-P1")
def test_a_fixed_rule_may_name_root_as_the_parent() -> None:
    """The reference puts root in front of it, and the user lands in root.root.ann.

    remuda takes it for the root queue.
    """
    assert place(by(rule("user", create=True, above=rule("fixed", "root")))) == "root.ann"


@pytest.mark.remuda_rule("PLC-32", "D-P2")
def test_a_queue_whose_name_begins_with_root_is_a_queue() -> None:
    """Up to 1.8 a fixed rule for rootbeer crashes with the first application.

    remuda makes the queue root.rootbeer.
    """
    assert place(by(rule("fixed", "rootbeer", create=True))) == "root.rootbeer"


@pytest.mark.remuda_rule("PLC-41", "D-P4")
def test_a_queue_may_be_asked_for_in_capitals() -> None:
    """1.5.1 takes ROOT.X for one unusual name, and makes the queue root.root_dot_x.

    remuda ignores the case.
    """
    assert place(by(rule("provided", create=True)), "ROOT.NEW") == "root.new"


@pytest.mark.remuda_rule("PLC-44", "D-P5")
def test_deny_denies_in_capitals_too() -> None:
    """Up to 1.8 a filter of the type DENY is valid and lets those pass whom it should refuse.

    remuda ignores the case.
    """
    rules = "placementrules: [{name: user, create: true, filter: {type: DENY, users: [ann]}}]"
    text = partition_text(f"{rules}, queues: [{{name: root, submitacl: '*'}}]")
    (found,) = load_configuration(text).partitions
    door = Caller(partitions=[found])
    assert refused(door, user="ann")
    assert place(door, user="bob") == "root.bob"


@pytest.mark.remuda_rule("PLC-50", "D-P6")
def test_a_dollar_sign_at_the_end_of_a_user_is_part_of_the_name() -> None:
    """The reference takes it for an expression, which fits abcuser and not the account user$.

    remuda takes a legal name literally.
    """
    rules = "placementrules: [{name: fixed, value: root.a, filter: {users: ['user$']}}]"
    queues = "queues: [{name: root, submitacl: '*', queues: [{name: a}]}]"
    (found,) = load_configuration(partition_text(f"{rules}, {queues}")).partitions
    door = Caller(partitions=[found])
    assert place(door, user="user$") == "root.a"
    assert refused(door, user="abcuser")


@pytest.mark.remuda_rule("PLC-59", "D-P7")
def test_a_rule_whose_queue_cannot_be_made_gives_way_to_the_next() -> None:
    """The reference rejects the application when it cannot make a queue below a leaf.

    remuda tries the next rule.
    """
    door = by(rule("provided", create=True), rule("fixed", "root.p.x"))
    assert place(door, "root.a.below") == "root.p.x"


@pytest.mark.remuda_rule("PLC-64", "D-P8")
def test_a_bad_name_leaves_no_half_made_queues() -> None:
    """The reference makes the levels above the bad name before it rejects the application.

    remuda checks all names first.
    """
    door = by(rule("provided", create=True))
    before = paths(door)
    assert "invalid queue name" in place(door, "root.new.b!d.leaf")
    assert paths(door) == before


@pytest.mark.remuda_rule("PLC-71", "SI-25", "D-P9")
def test_running_work_is_never_refused_for_a_rule() -> None:
    """The reference rejects a forced application if a queue for it cannot be made.

    remuda puts it into the recovery queue, since its work runs already.
    """
    door = by(rule("provided", create=True))
    assert place(door, "root.new.b!d.leaf", tags=FORCE) == RECOVERY


@pytest.mark.remuda_rule("PLC-74", "D-P10")
def test_nobody_reaches_the_recovery_queue_by_its_name() -> None:
    """1.5.1 lets everybody in who asks for it by name, as long as the queue does not exist.

    In remuda, only forced applications get there.
    """
    door = Caller(leaf("a"), placement_rules=(CREATING,))
    assert refused(door, RECOVERY)
    assert RECOVERY not in paths(door)


@pytest.mark.remuda_rule("TPL-9", "D-C13")
def test_running_work_is_not_held_back_by_a_template() -> None:
    """The reference gives the recovery queue the limits of root's template.

    In remuda, the recovery queue has no limits.
    """
    template = TemplateConfig(1, maximum={"vcore": 1})
    door = Caller(leaf("a"), root={"template": template, "submit_acl": acl("*")})
    assert place(door, "root.none", tags=FORCE) == RECOVERY
    view = door.queue(RECOVERY)
    assert (view.maximum, view.max_applications) == (None, 0)


@pytest.mark.remuda_rule("PRP-4", "D-C24")
def test_a_queue_made_on_demand_sorts_as_its_parent_says() -> None:
    """In the reference it inherits no properties, although its documentation promises that.

    In remuda, it inherits them as a configured queue does.
    """
    fair = {"application.sort.policy": "fair"}
    door = Caller(parent("p", properties=fair), placement_rules=(CREATING,))
    submit(door, "app", "root.p.made")
    assert door.queue("root.p.made").sort_policy == "fair"


@pytest.mark.remuda_rule("PLC-86", "D-P11")
def test_a_refused_gang_leaves_the_quota_of_its_namespace() -> None:
    """The reference stores the quota from the gang's tags, and then refuses the gang.

    remuda stores the quota of accepted applications only.
    """
    door = Caller(leaf("a"), placement_rules=(CREATING,))

    def quota(cores: int) -> dict[str, str]:
        text = f'{{"resources":{{"vcore":{{"value":{cores}}}}}}}'
        return {"namespace.resourcequota": text}

    submit(door, "one", "root.ns", tags=quota(10))
    effects = door.app("two", "root.ns", tags=quota(5), placeholder_ask={"vcore": 8})
    (answer,) = of(effects, e.ApplicationsAnswered)
    assert [bad.subject for bad in answer.rejected] == ["two"]
    assert door.queue("root.ns").maximum == {"vcore": 10}
