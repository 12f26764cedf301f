"""The classes of the cluster, its partitions and what they keep, with their fields."""

from __future__ import annotations

from typing import Final

from remuda.config.schema import Configuration, FilterConfig, NameFilter, PlacementRuleConfig
from remuda.core.messages.commands import RegisterResourceManager
from remuda.core.model.allocation import Allocation
from remuda.core.model.calendar import Calendar
from remuda.core.model.cluster import Cluster, ResourceManager
from remuda.core.model.deadlines import Deadline, Deadlines
from remuda.core.model.finding import Finding, NodeSummary
from remuda.core.model.partition import Partition
from remuda.core.model.placement_rule import Filter, NameMatch, PlacementRule
from remuda.core.model.preemption.attempts import Attempts, Tried, VictimAnswers
from remuda.core.model.preemption.candidates import Candidates, Kind
from remuda.core.model.preemption.evictions import EvictionCounts, Evictions, EvictionTimes
from remuda.core.model.preemption.live import Preemption, Victim
from remuda.core.model.preemption.state import PreemptionState, QuotaChanges
from remuda.core.model.ranking import Ranking
from remuda.core.model.reservation import Reservation, ReservationClass, Reservations
from remuda.core.model.settings import PartitionSettings
from remuda.core.model.totals import KeptCounts, LeafCounts, Totals
from remuda.core.model.vectors import Amounts, ResourceTypes, Vector
from remuda.core.snapshot.blanks import Blanks
from remuda.core.snapshot.layout import Layout, part


def _preemption(b: Blanks) -> Preemption:
    return Preemption(0, kind="", created_ns=0, queue_path="", amounts=b.amounts, reasons=())


PARTITIONS: Final[tuple[Layout, ...]] = (
    Layout(
        Allocation,
        """
        allocation_id:str ask:Ask amounts:Amounts application:Application node:Node
        requested_ns:int created_ns:int release_type:int release_timer:Deadline? repeated:bool
        replaces:Allocation? placeholder_ns:int preemption:Preemption? kind:Kind?
        """,
        lambda b: Allocation("", b.ask, b.amounts, b.application, b.node),
    ),
    Layout(
        Amounts,
        """
        number:int pairs:tuple resource:dict need:tuple types:int need_types:int
        """,
        lambda _: Amounts(0, (), {}),
    ),
    part(
        Attempts,
        """
        fruitless:dict exhausted:dict blocked:dict awaiting_victims:dict timer_ns:int made:int
        planned:int _since_ns:int _cost:int _by_leaf:dict
        """,
    ),
    part(Calendar, "before_ns:int marks:tuple"),
    part(Candidates, "_kinds:dict kinds:dict on:dict"),
    Layout(
        Cluster,
        """
        limits:dict reservation_delay_ns:int? calendar:Calendar deadlines:Deadlines managers:dict
        tracking:bool counts:KeptCounts fault_point:absent shortage:str
        """,
        lambda _: Cluster(None, {}),
    ),
    Layout(
        Deadline,
        """
        partition:Partition what:str application:Application? generation:int
        allocation:Allocation? at_ns:int period_ns:int
        """,
        lambda b: Deadline(Partition("", b.config, b.types, b.leaf, b.node_order), "", None),
    ),
    part(Deadlines, "frozen:dict _heap:list _held:dict _number:int _looked:int"),
    Layout(
        EvictionCounts,
        """
        limit:int subjects:any
        """,
        lambda _: EvictionCounts(0),
    ),
    part(EvictionTimes, "times:list number:int reported_ns:int?"),
    part(Evictions, "asks:EvictionCounts applications:EvictionCounts"),
    Layout(
        Filter,
        """
        deny:bool users:NameMatch? groups:NameMatch?
        """,
        lambda _: Filter(FilterConfig()),
    ),
    Layout(
        Finding,
        """
        gate:str subject:str available:dict? nodes:NodeSummary? last_ns:int looks:int
        preemption:str
        """,
        lambda _: Finding("", "", None, None, 0),
    ),
    part(KeptCounts, "totals:Totals _gone:dict"),
    Layout(
        Kind,
        """
        key:tuple leaf:Queue amounts:Amounts priority:int bits:int hosts:dict age_keys:list
        allocations:dict
        """,
        lambda b: Kind(("", 0, 0, 0), b.leaf, b.amounts),
    ),
    part(
        LeafCounts,
        """
        allocated:int released:int completed:int failed:int preempted:int preempted_amounts:dict
        """,
    ),
    Layout(
        NameMatch,
        """
        _names:any _pattern:pattern _known:dict
        """,
        lambda _: NameMatch(NameFilter()),
    ),
    Layout(
        NodeSummary,
        """
        total:int draining:int reserved:int too_small:int no_room:int refused:int reasons:tuple
        """,
        lambda _: NodeSummary(0, 0, 0),
    ),
    Layout(
        Partition,
        """
        rm_id:str name:str settings:PartitionSettings types:ResourceTypes state:str state_ns:int
        resting:bool calendar:Calendar numbers:int root:Queue nodes:dict pool:NodePool
        applications:dict kept:KeptApplications allocation_count:int placeholder_count:int
        ask_count:int queue_count:int tag_characters:int leaving:dict trackers:dict
        limit_sets:dict waiting:WaitingAsks reserving:Reservations preempting:PreemptionState
        totals:Totals
        """,
        lambda b: Partition("", b.config, b.types, b.leaf, b.node_order),
    ),
    Layout(
        PartitionSettings,
        """
        config:PartitionConfig rules:tuple parity:bool node_sort_weights:dict
        reservation_delay_ns:int? limits:dict application_asks_limit:int asks_limit:int
        reservation_limit_ns:int confirm_timeout_ns:int enforce_timeouts:bool cleanup_set:bool
        predicates:bool preemption_predicates:bool
        """,
        lambda b: PartitionSettings(b.config),
    ),
    Layout(
        PlacementRule,
        """
        name:str create:bool value:str filter:Filter? parent:PlacementRule?
        """,
        lambda _: PlacementRule(PlacementRuleConfig("")),
    ),
    Layout(
        Preemption,
        """
        number:int kind:str created_ns:int queue_path:str amounts:Amounts reasons:tuple
        request:Request? application_number:int application_id:str allocation_key:str node_id:str
        victims:dict left:int promised:bool outcome:str cause:str ended_ns:int
        """,
        _preemption,
    ),
    part(
        PreemptionState,
        """
        made:dict candidates:Candidates? ages:Ages attempts:Attempts revision:int
        evictions:Evictions quotas:QuotaChanges
        """,
    ),
    part(QuotaChanges, "armed:dict running:dict ended:list tick_ns:int"),
    part(Ranking, "_heap:list _first:int keys:dict"),
    Layout(
        Reservation,
        """
        number:int request:Request node:Node reservation_class:ReservationClass created_ns:int
        node_ready:bool refusal:str timed:bool
        """,
        lambda b: Reservation(0, b.request, b.node, b.reservation_class, 0),
    ),
    Layout(
        ReservationClass,
        """
        key:tuple amounts:Amounts bounds:tuple fits:bool reservations:dict
        """,
        lambda b: ReservationClass(("", 0, 0), b.amounts, ()),
    ),
    part(
        Reservations,
        """
        reservations:dict classes:dict stale:bool due_ns:int nodes_to_review:dict refused:dict
        ages:Ages
        """,
    ),
    Layout(
        ResourceManager,
        """
        record:RegisterResourceManager config:Configuration extra_config:dict predicates:bool
        preemption_predicates:bool partitions:dict leaving:list away_since_ns:int? stop_ns:int?
        held:bool continued:bool asked_until_ns:int asked:bool
        """,
        lambda _: ResourceManager(RegisterResourceManager("", Configuration(()))),
    ),
    part(
        ResourceTypes,
        """
        names:list _indexes:dict _by_name:list _known:dict _number:int _read:absent
        """,
    ),
    part(
        Totals,
        """
        submitted:int accepted:int rejected:int completed:int failed:int allocated:int
        recovered:int released:int errors:int bad_nodes:int decommissioned:int limit_hits:dict
        """,
    ),
    Layout(
        Tried,
        """
        due_ns:int revision:int?
        """,
        lambda _: Tried(0, None),
    ),
    part(Vector, "amounts:list types:int"),
    Layout(
        Victim,
        """
        application_id:str allocation_id:str key:str queue_path:str node_id:str amounts:Amounts
        priority:int originator:bool opted_out:bool for_queue:bool confirmed:bool
        """,
        lambda b: Victim(Allocation("", b.ask, b.amounts, b.application, b.node), for_queue=False),
    ),
    part(VictimAnswers, "ticket:int asked:tuple answered:list"),
)
