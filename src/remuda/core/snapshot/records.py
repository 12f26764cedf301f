"""The records of requests and configurations that the state refers to."""

from __future__ import annotations

from typing import Final

from remuda.base.scopes import Scope
from remuda.config.schema import (
    AccessList,
    Configuration,
    FilterConfig,
    LimitConfig,
    NameFilter,
    PartitionConfig,
    PlacementRuleConfig,
    QueueConfig,
    TemplateConfig,
)
from remuda.core.messages.ask import Ask
from remuda.core.messages.commands import NewApplication, RegisterResourceManager
from remuda.core.ports import PreemptionItem
from remuda.core.snapshot.layout import Layout, record

RECORDS: Final[tuple[Layout, ...]] = (
    record(AccessList, "everybody:bool users:tuple groups:tuple"),
    Layout(
        Ask,
        """
        application_id:str allocation_key:str resource:dict partition:str max_allocations:int
        priority:int tags:dict execution_timeout_ms:int task_group:str placeholder:bool
        originator:bool allow_preempt_self:bool allow_preempt_other:bool equivalence:str
        key_is_identity:bool
        """,
        lambda _: Ask("", "", {}),
    ),
    record(Configuration, "partitions:tuple checksum:str text:str"),
    record(FilterConfig, "deny:bool users:NameFilter? groups:NameFilter?"),
    record(
        LimitConfig,
        """
        users:tuple groups:tuple maximum:dict? max_applications:int description:str
        """,
    ),
    record(NameFilter, "names:tuple pattern:str"),
    record(
        NewApplication,
        """
        application_id:str queue:str partition:str user:str groups:tuple tags:dict
        execution_timeout_ms:int placeholder_ask:dict gang_scheduling_style:str user_fault:str
        within:Scope?
        """,
    ),
    record(
        PartitionConfig,
        """
        name:str root:QueueConfig placement_rules:tuple node_sort_policy:str
        node_sort_weights:dict preemption:bool quota_preemption:bool user_group_resolver:str
        """,
    ),
    record(
        PlacementRuleConfig,
        """
        name:str create:bool value:str parent:PlacementRuleConfig? filter:FilterConfig?
        """,
    ),
    record(
        PreemptionItem,
        """
        allocation_key:str node_id:str victims:tuple start_index:int application_id:str
        """,
    ),
    record(
        QueueConfig,
        """
        name:str parent:bool maximum:dict? guaranteed:dict? properties:dict queues:tuple
        max_applications:int admin_acl:AccessList submit_acl:AccessList template:TemplateConfig?
        limits:tuple
        """,
    ),
    record(
        RegisterResourceManager,
        """
        rm_id:str config:Configuration version:str policy_group:str build_info:dict
        extra_config:dict predicates:bool preemption_predicates:bool
        """,
    ),
    record(Scope, "partitions:tuple queues:tuple"),
    record(TemplateConfig, "max_applications:int properties:dict maximum:dict? guaranteed:dict?"),
)
