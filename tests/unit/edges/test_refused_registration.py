"""A first configuration with a bad placement rule (RLD-8): nothing is registered."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from remuda.base.errors import ConfigError, ProtocolError
from remuda.config.load import load_configuration
from remuda.core.messages.queries import ConfigurationsQuery, PartitionsQuery
from remuda.edges.inproc import InProcessScheduler
from remuda.si.pb import si_pb2 as si

TEXT = """\
partitions:
  - name: default
    placementrules: [{rule}]
    queues: [{{name: root, submitacl: "*", queues: [{{name: a}}]}}]
"""


class Rm:
    """A resource manager that hears nothing."""

    def update_allocation(self, response: si.AllocationResponse) -> None:
        raise AssertionError(response)

    def update_application(self, response: si.ApplicationResponse) -> None:
        raise AssertionError(response)

    def update_node(self, response: si.NodeResponse) -> None:
        raise AssertionError(response)


@pytest.fixture
def scheduler() -> Iterator[InProcessScheduler]:
    with InProcessScheduler(load=load_configuration) as running:
        yield running


def register(scheduler: InProcessScheduler, rule: str) -> None:
    config = TEXT.format(rule=rule)
    scheduler.register_resource_manager(
        si.RegisterResourceManagerRequest(rmID="rm", config=config), Rm()
    )


@pytest.mark.remuda_rule("RLD-8", "D-C17", "RM-6", "PLC-12", "PLC-14")
@pytest.mark.parametrize(
    "rule", ["{name: bogus}", "{name: recovery}", "{name: test}", "{name: fixed}", "{name: tag}"]
)
def test_a_bad_rule_in_the_first_configuration_fails_the_registration(
    scheduler: InProcessScheduler, rule: str
) -> None:
    with pytest.raises(ConfigError, match="rule"):
        register(scheduler, rule)
    assert not scheduler.core.registered("rm")
    for query in (PartitionsQuery(), ConfigurationsQuery()):
        assert scheduler.core.query(query).result(60) == ()
    register(scheduler, "{name: provided}")
    assert scheduler.core.registered("rm")


@pytest.mark.remuda_rule("RM-4", "RM-13")
@pytest.mark.parametrize("group", ["g" * 257, "a\nb"])
def test_a_policy_group_without_a_good_name_fails_the_registration(
    scheduler: InProcessScheduler, group: str
) -> None:
    register(scheduler, "{name: provided}")
    request = si.RegisterResourceManagerRequest(rmID="rm", policyGroup=group)
    with pytest.raises(ProtocolError, match=r"^policyGroup (is longer|must not)"):
        scheduler.register_resource_manager(request, Rm())
    assert not scheduler.core.registered("rm")
