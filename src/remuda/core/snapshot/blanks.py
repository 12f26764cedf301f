"""Blank parts for the constructors that the reader of snapshots calls; see ``layout``."""

from __future__ import annotations

from typing import final

from remuda.config.schema import PartitionConfig, QueueConfig
from remuda.core.messages.ask import Ask
from remuda.core.messages.commands import NewApplication
from remuda.core.model.applications.application import Application
from remuda.core.model.applications.submission import Submission
from remuda.core.model.asks.ask_class import AskClass, AskClassKey
from remuda.core.model.asks.class_queue import ClassQueue, LimitGroup
from remuda.core.model.asks.predicate_class import PredicateClass
from remuda.core.model.asks.request import Request
from remuda.core.model.nodes.node import Node
from remuda.core.model.nodes.node_blocks import Block, Shelf
from remuda.core.model.nodes.node_order import NodeOrder
from remuda.core.model.queues.demand import NO_SCALE
from remuda.core.model.queues.queue import Queue
from remuda.core.model.queues.trackers import LimitSet
from remuda.core.model.reservation import ReservationClass
from remuda.core.model.vectors import Amounts, ResourceTypes, Vector
from remuda.core.policy.node_score import usage


@final
class Blanks:
    """One blank of everything that a constructor of the state needs; for one reading only."""

    __slots__ = (
        "amounts",
        "application",
        "ask",
        "ask_class",
        "ask_class_key",
        "block",
        "class_queue",
        "config",
        "leaf",
        "limit_group",
        "limit_set",
        "node",
        "node_order",
        "predicate_class",
        "record",
        "request",
        "reservation_class",
        "scale",
        "shelf",
        "submission",
        "types",
        "vector",
    )

    def __init__(self) -> None:
        self.config = PartitionConfig("", QueueConfig(""), placement_rules=())
        self.record = NewApplication("")
        self.ask = Ask("", "", {})
        self.amounts = Amounts(0, (), {})
        self.types = ResourceTypes()
        self.vector = Vector()
        self.scale = NO_SCALE
        self.leaf = Queue("", None, leaf=True, managed=True)
        self.submission = Submission(0, self.record, 0)
        self.application = Application(self.submission, self.leaf)
        self.node = Node("", self.amounts, self.amounts, schedulable=True)
        self.shelf = Shelf()
        self.block = Block(self.shelf, [], [], ())
        self.node_order = NodeOrder(usage)
        self.predicate_class = PredicateClass(0, "", lasting=False)
        self.ask_class_key: AskClassKey = (0, "", "", "", 0, 0, "", False, 0, None, False)
        self.ask_class = AskClass(0, self.ask_class_key, self.amounts, None, self.predicate_class)
        self.class_queue = ClassQueue(0, self.leaf, self.ask_class)
        self.limit_set = LimitSet(0, ())
        self.limit_group = LimitGroup(0, self.class_queue, self.limit_set, 0)
        self.request = Request(0, self.ask, self.amounts, self.application, 0)
        self.reservation_class = ReservationClass(("", 0, 0), self.amounts, ())
