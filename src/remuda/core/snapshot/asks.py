"""The classes of asks and applications, with their fields."""

from __future__ import annotations

from typing import Final

from remuda.core.model.applications.application import Application, History
from remuda.core.model.applications.ended import Ended, EndedApplication, KeptApplications
from remuda.core.model.applications.gang import Gang, Swaps, TaskGroup
from remuda.core.model.asks.ages import Ages
from remuda.core.model.asks.ask_class import AskClass
from remuda.core.model.asks.ask_order import AskOrder
from remuda.core.model.asks.blocked import Blocked
from remuda.core.model.asks.class_queue import ClassQueue, Group, LimitGroup
from remuda.core.model.asks.outstanding import LeafAsks, Outstanding
from remuda.core.model.asks.past_asks import PastAsks, Table
from remuda.core.model.asks.predicate_class import PredicateClass
from remuda.core.model.asks.request import Request
from remuda.core.model.asks.retries import Retries
from remuda.core.model.asks.verdicts import Asked, Questions
from remuda.core.model.asks.waiting import WaitingAsks
from remuda.core.snapshot.layout import Layout, part

ASKS: Final[tuple[Layout, ...]] = (
    part(
        Ages,
        """
        _times:list _waiting:dict _count:int _gone:int _runs:list _runs_added:int timer_ns:int
        pause_ns:int
        """,
    ),
    Layout(
        Application,
        """
        allocations:dict lent:bool number:int record:NewApplication submitted_ns:int
        started_ns:int state:str generation:int state_log:tuple queue:Queue queue_path:str
        pending:Vector wanted:int waiting_asks:int tag_characters:int allocated:Vector
        max_allocated:Vector priorities:PriorityCount priority:int requests:dict past_from:int
        past_last:int detached:dict request_groups:dict sort_key:tuple user:str user_groups:tuple
        limit_set:LimitSet? group:str seen:bool linked:bool unlinked:bool counted:bool
        queue_lets:bool quota_lets:bool node_policy:str reservations:dict counted_early:bool
        backoff_until_ns:int unplaced:int gang:Gang? promised:Vector? history:History?
        """,
        lambda b: Application(b.submission, b.leaf),
    ),
    Layout(
        AskClass,
        """
        number:int ending:tuple key:tuple amounts:Amounts required_node:str node_policy:str
        stage:int task_group:str placeholder:bool preempts:bool promised:bool total:Amounts?
        urgent:bool may_reserve:bool predicate_class:PredicateClass at_once:bool groups:int
        tried:int waiting:dict passed_over:PassedOver?
        """,
        lambda b: AskClass(0, b.ask_class_key, b.amounts, None, b.predicate_class),
    ),
    part(AskOrder, "count:int _run:list _head:int _late:dict _heap:list _first:Request?"),
    Layout(
        Asked,
        """
        class_queue:ClassQueue predicate_class:PredicateClass nodes:any allocate:bool
        application:Application?
        """,
        lambda b: Asked(b.class_queue, (), True, None),
    ),
    Layout(
        Blocked,
        """
        reason:str at:any until_ns:int
        """,
        lambda _: Blocked(""),
    ),
    Layout(
        ClassQueue,
        """
        number:int leaf:Queue ask_class:AskClass ranking:Ranking order:Ranking limit_groups:dict
        limit_group_keys:dict fresh:dict finding:Finding? blocked:Blocked? tried:Tried? passed:int
        victim_answers:VictimAnswers?
        """,
        lambda b: ClassQueue(0, b.leaf, b.ask_class),
    ),
    part(Ended, "applications:any keys:any latest:dict"),
    Layout(
        EndedApplication,
        """
        number:int record:NewApplication queue_path:str user:str user_groups:tuple
        submitted_ns:int started_ns:int finished_ns:int state:str state_log:tuple
        reject_reason:str priority:int backoff_until_ns:int pending:Vector allocated:Vector
        peak:Vector gang:Gang? history:History?
        """,
        lambda b: EndedApplication(b.submission, "", 0),
    ),
    Layout(
        Gang,
        """
        total:Amounts? complete:bool over:bool groups:dict placeholders:dict usage:Vector
        pending:int lacks:tuple replacing:dict timer:Deadline? since_ns:int ending:bool
        needs_gang_quota:bool real_asks_wait:bool expecting:dict able:dict swap_failed:bool
        awaits_answer:bool looked_until:tuple looked_since:int
        """,
        lambda _: Gang(None),
    ),
    Layout(
        Group,
        """
        application:Application limit_group:LimitGroup order:AskOrder
        """,
        lambda b: Group(b.application, b.limit_group),
    ),
    part(History, "used:dict preempted:dict placeholder:dict"),
    part(KeptApplications, "completed:Ended rejected:Ended applications:any states:dict"),
    Layout(
        LeafAsks,
        """
        leaf:Queue by_application:dict kinds:dict amounts:dict quota:bool
        """,
        lambda b: LeafAsks(b.leaf),
    ),
    Layout(
        LimitGroup,
        """
        number:int class_queue:ClassQueue limit_set:LimitSet admission:int start_queues:tuple
        start_trackers:tuple order:Ranking groups:dict unseen:int _fresh:list blocked:Blocked?
        finding:Finding?
        """,
        lambda b: LimitGroup(0, b.class_queue, b.limit_set, 0),
    ),
    part(
        Outstanding,
        """
        leaves:dict changed:dict all_changed:bool unfinished:bool timer_set:bool to_report:list
        """,
    ),
    part(PastAsks, "remembered:int total:int floor:int newest:int _old:Table _young:Table"),
    Layout(
        PredicateClass,
        """
        number:int name:str lasting:bool ask_classes:dict ticket:int judged:dict wanted:int
        used:int spread:int reach:int due_ns:int delay_ns:int rounds:int
        """,
        lambda _: PredicateClass(0, "", lasting=False),
    ),
    part(
        Questions,
        """
        asked:dict awaiting:dict swaps:dict postponed:dict wanted:int later:bool together:int
        """,
    ),
    Layout(
        Request,
        """
        number:int ask:Ask amounts:Amounts application:Application created_ns:int pending:int
        made:int adopted:int next_identity:int in_flight:int aged:bool ages:bool attempted:bool
        reported:bool unplaced:bool outstanding:bool preemption:Preemption? preempt_due:bool
        preempt_timed:bool tried_ns:int? reported_ns:int? group:Group? reservations:dict
        only_identity:str identities:dict sort_key:tuple looked:bool fits_queue:bool
        fits_user:bool waits_since_ns:int log:tuple
        """,
        lambda b: Request(0, b.ask, b.amounts, b.application, 0),
    ),
    part(
        Retries,
        """
        _heap:list _number:int count:int current:PredicateClass? left:list done:dict after:Node?
        reserving:bool ready:bool ticket:int asked:list restart_ns:int others_due_ns:int
        others_delay_ns:int swaps_left:int timer_ns:int stale:bool
        """,
    ),
    part(Swaps, "order:Ranking _applications:dict"),
    Layout(
        Table,
        """
        base:int count:int highest:int newest:int pieces:list slots:any
        """,
        lambda _: Table(0),
    ),
    Layout(
        TaskGroup,
        """
        name:str minimum:Amounts? count:int replaced:int timed_out:int given_up:int free:dict
        order:AskOrder
        """,
        lambda _: TaskGroup(""),
    ),
    Layout(
        WaitingAsks,
        """
        ask_classes:dict predicate_classes:dict waiting_classes:WaitingClasses
        gained_room:GainedRoom leaves_to_reorder:dict shares_stale:dict scale:Scale urgent:dict
        swapping:dict failed_swaps:dict changes:int questions:Questions retries:Retries
        outstanding:Outstanding own_tags:dict past:PastAsks
        """,
        lambda b: WaitingAsks(b.leaf),
    ),
)
