"""The settings in force for a partition."""

from __future__ import annotations

from collections.abc import Mapping
from typing import final

from remuda.config.process_limits import APPLICATION_ASKS, ASKS, DEFAULT_LIMITS, Limits
from remuda.config.schema import PartitionConfig
from remuda.core.model.placement_rule import PlacementRule


@final
class PartitionSettings:
    """Settings from the configuration, the extra map and the registration of the RM."""

    __slots__ = (
        "application_asks_limit",
        "asks_limit",
        "cleanup_set",
        "config",
        "confirm_timeout_ns",
        "enforce_timeouts",
        "limits",
        "node_sort_weights",
        "parity",
        "predicates",
        "preemption_predicates",
        "reservation_delay_ns",
        "reservation_limit_ns",
        "rules",
    )

    def __init__(self, config: PartitionConfig) -> None:
        self.config = config
        # The placement rules of the configuration, ready for use.
        self.rules: tuple[PlacementRule, ...] = ()
        # Whether queues are ordered as in 1.5 (KV-5).
        self.parity: bool = False
        # By resource type, for scores of nodes (NOD-15).
        self.node_sort_weights: Mapping[str, float] = {}
        # How old an ask must be to reserve a node; None: no ask may (RSV-3).
        self.reservation_delay_ns: int | None = None
        # How much the partition may keep (SI-14).
        self.limits: Limits = DEFAULT_LIMITS
        # Two of them, which every ask is compared with.
        self.application_asks_limit: int = 0
        self.asks_limit: int = 0
        self.set_limits(DEFAULT_LIMITS)
        # The maximum age of a reservation that does not fit the headroom, 0: no limit (RSV-10).
        self.reservation_limit_ns: int = 0
        # After how long a release request is repeated, 0: never (SI-69).
        self.confirm_timeout_ns: int = 0
        # Whether the running time of applications is limited (APP-30).
        self.enforce_timeouts: bool = False
        # Whether a timer that removes empty queues is set (OBJ-5).
        self.cleanup_set: bool = False
        # Whether the RM is asked about nodes (NOD-13), and about victims (PRE-28).
        self.predicates: bool = False
        self.preemption_predicates: bool = False
        self.set_config(config)

    def set_limits(self, limits: Limits) -> None:
        """Take over the limits of the process. Rules: SI-14."""
        self.limits = limits
        self.application_asks_limit = limits[APPLICATION_ASKS.name]
        self.asks_limit = limits[ASKS.name]

    def set_config(self, config: PartitionConfig) -> None:
        """Take over a configuration, except its queues and nodes.

        Rules: PLC-13, PAR-3, RLD-4, RLD-30.
        """
        self.config = config
        self.rules = tuple([PlacementRule(rule) for rule in config.placement_rules])
