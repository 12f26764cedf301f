"""The views that the golden examples of chapter 95 show."""

from __future__ import annotations

from remuda.core.messages.application_views import AllocationView, ApplicationView
from remuda.core.messages.ask_views import RequestView
from remuda.core.messages.queries import NodeView

ALLOCATION = AllocationView(
    allocation_key="t-1",
    allocation_id="t-1-0",
    tags={"k": "v"},
    request_time_ns=1767225602000000000,
    allocation_time_ns=1767225602000230000,
    resource={"memory": 10, "vcore": 1000},
    priority=0,
    node_id="n1",
    application_id="job-1",
    partition="default",
    originator=False,
)

REQUEST = RequestView(
    allocation_key="t-2",
    tags={},
    request_time_ns=1767225605000000000,
    resource={"memory": 95, "vcore": 1000},
    pending_count=1,
    priority=0,
    required_node="",
    application_id="job-1",
    partition="default",
    originator=False,
    scheduling_attempted=False,
    triggered_scale_up=False,
    log=(),
    finding=None,
    reservations=(),
)

APPLICATION = ApplicationView(
    application_id="job-1",
    partition="default",
    queue="root.etl",
    user="ann",
    groups=("bi",),
    state="Starting",
    submission_time_ns=1767225601000000000,
    finished_time_ns=0,
    start_time_ns=0,
    used={"memory": 10, "vcore": 1000},
    max_used={"memory": 10, "vcore": 1000},
    pending={"memory": 95, "vcore": 1000},
    rejected_message="",
    max_request_priority=0,
    state_log=((1767225602000000001, "Accepted"), (1767225602000230001, "Starting")),
    backoff_deadline_ns=0,
    requests=(REQUEST,),
    allocations=(ALLOCATION,),
)

NODE = NodeView(
    node_id="n1",
    partition="default",
    attributes={
        "si/hostname": "h1",
        "si/rackname": "/r1",
        "si/node-partition": "[rm-a]default",
    },
    capacity={"memory": 100, "vcore": 20000},
    allocated={"memory": 75, "vcore": 6},
    occupied={},
    available={"memory": 25, "vcore": 19994},
    schedulable=True,
    ready=True,
    allocations=(),
    reservations=(),
    foreign=(),
)
