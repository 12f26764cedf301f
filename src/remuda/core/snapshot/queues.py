"""The classes of queues, trackers and their orders, with their fields."""

from __future__ import annotations

from typing import Final

from remuda.config.schema import AccessList
from remuda.core.model.queues.bound import Waitlist
from remuda.core.model.queues.child_order import ChildOrder
from remuda.core.model.queues.demand import Scale
from remuda.core.model.queues.priorities import PriorityCount
from remuda.core.model.queues.queue import Access, Queue, QueueSettings
from remuda.core.model.queues.tiers import Child, ParityTier, Tier
from remuda.core.model.queues.trackers import Limit, LimitSet, QueueTracker
from remuda.core.model.queues.turns import Turns
from remuda.core.snapshot.layout import Layout, part

QUEUES: Final[tuple[Layout, ...]] = (
    Layout(
        Access,
        """
        everybody:bool users:any groups:any
        """,
        lambda _: Access(AccessList()),
    ),
    Layout(
        Child,
        """
        name:str key:tuple pending:Vector ready:bool tier:any counted:tuple listed:tuple
        apart:bool
        """,
        lambda b: Child("", (), b.vector, ready=False),
    ),
    part(ChildOrder, "_children:dict _tiers:dict _others:list ready:list"),
    Layout(
        Limit,
        """
        maximum:Vector? max_applications:int
        """,
        lambda _: Limit(None, 0),
    ),
    Layout(
        LimitSet,
        """
        number:int trackers:tuple references:int limited:tuple application_limits:tuple
        """,
        lambda _: LimitSet(0, ()),
    ),
    Layout(
        ParityTier,
        """
        numbers:tuple scale:Scale line:list others:list _names:list _pending:dict _sums:list
        _served:dict _served_counts:dict
        """,
        lambda b: ParityTier((), b.scale),
    ),
    part(PriorityCount, "highest:int _most:int _counts:dict _heap:list"),
    Layout(
        Queue,
        """
        maximum:Vector? max_applications:int closed:bool allocated:Vector preempting:Vector
        promised:Vector? lacking:Vector? running:int counted_early:int starting:Waitlist
        unblocked:dict name:str parent:Queue? leaf:bool managed:bool path:str path_up:tuple
        state:str config:QueueConfig? guaranteed:Vector? properties:dict settings:QueueSettings
        submit_access:Access admin_access:Access template:TemplateConfig? user_limits:dict
        group_limits:dict pending:Vector divisors:list? fair_maximum:Vector?
        priorities:PriorityCount priority:int shown_priority:int children:dict
        child_order:ChildOrder applications:dict class_queues:dict ready:Ranking urgent:Ranking
        swaps:Swaps turns:Turns waiting:dict waiting_classes:WaitingClasses quota_due_ns:int
        quota_run:Preemption? counts:LeafCounts
        """,
        lambda _: Queue("", None, leaf=True, managed=True),
    ),
    part(
        QueueSettings,
        """
        application_sort:str sort_by_priority:bool priority_fence:bool priority_offset:int
        preemption_policy:str preemption_delay_ns:int quota_preemption_delay_ns:int backoff:int
        backoff_delay_ns:int gang_admission:str
        """,
    ),
    Layout(
        QueueTracker,
        """
        maximum:Vector? max_applications:int closed:bool allocated:Vector preempting:Vector
        promised:Vector? lacking:Vector? running:int counted_early:int starting:Waitlist
        unblocked:dict number:int key:tuple queue:Queue wildcard:bool announced:bool
        references:int waiting:Waitlist
        """,
        lambda b: QueueTracker(0, ("", "", ""), b.leaf),
    ),
    Layout(
        Scale,
        """
        weights:list parity:bool
        """,
        lambda b: Scale(b.vector, parity=False),
    ),
    Layout(
        Tier,
        """
        numbers:tuple scale:Scale line:list others:list
        """,
        lambda b: Tier((), b.scale),
    ),
    part(Turns, "_order:Ranking _members:dict starting:int holder:Application?"),
    part(Waitlist, "limit_groups:dict _orders:dict"),
)
