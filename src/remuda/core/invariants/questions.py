"""Whoever awaits an answer has asked, or is behind somebody who has (rules: EXT-14, EXT-17)."""

from __future__ import annotations

from remuda.core.invariants.require import require
from remuda.core.model.partition import Partition
from remuda.core.model.request import Lane


def check_questions(partition: Partition) -> None:
    """Questions belong to lanes, and where lanes are aside for an answer one is to come."""
    for ticket, asked in partition.questions.asked.items():
        key = asked.lane.shape.key
        require(partition.predicates, partition, f"question {ticket} of {key} has nobody to answer")
        known = asked.lane.ticket in (0, ticket) or asked.lane.ticket in partition.questions.asked
        require(known, partition, f"lane {key} waits for question {asked.lane.ticket}")
    to_come = partition.questions.waiting() == 0 or len(partition.questions.asked) > 0
    require(to_come, partition, "lanes await an answer, and nothing is asked")
    for number, application in partition.questions.swaps.items():
        gang = application.gang
        live = partition.applications.get(application.application_id) is application
        right = live and application.number == number and gang is not None and gang.aside
        require(right, partition, f"{application.application_id} is aside, or gone")
    for application in partition.applications.values():
        aside = application.gang is not None and application.gang.aside
        right = aside == (application.number in partition.questions.swaps)
        require(right, partition, f"{application.application_id} is aside and not listed")
    for listed in (partition.questions.awaiting, partition.questions.postponed):
        for number, lane in listed.items():
            right = lane.number == number and lane.listed is listed and lane.parked
            require(right, partition, f"lane {lane.shape.key} is aside where it should not be")


def check_listed(partition: Partition, lane: Lane, name: str) -> None:
    """A lane that is aside is where it says, for just one reason. Rules: EXT-14, EXT-17."""
    assert lane.listed is not None
    require(lane.listed.get(lane.number) is lane, partition, f"{name} is aside nowhere")
    once = lane.parked_at is None and lane.number not in lane.shape.waiting
    require(once, partition, f"{name} is parked and aside")
