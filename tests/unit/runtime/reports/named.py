"""A scheduler in which every name is hostile or secret, and has the word MARK in it."""

from __future__ import annotations

from typing import Any, TypeAlias

from remuda.config.load import load_configuration
from remuda.core.messages import commands as c
from remuda.core.messages.ask import Ask
from remuda.core.scheduler import Scheduler

Request: TypeAlias = c.UpdateApplications | c.UpdateAllocations | c.UpdateNodes

MARK = "zqx"
START = 1_700_000_000 * 10**9

CHIP = "acme.example/zqx-chip"
NODE = "\x1b[31mzqx-node is 1, not 2\n"
USER = "zqx.alice@corp.example"
OTHER = "zqx-bob"
GROUP = "zqx-finance"
APPLICATION = "zqx 'app' at root.zqx-hr, vcore is 3, not 4"
ASK = "zqx/ask: allocated in root.zqx\u202e"
TASKS = "zqx-tasks"
RM = "zqx-rm (x): its 3 effects"
LEAF = "root.zqx-hr.zqx@salaries:2026"

QUEUES = f"""
partitions:
  - name: default
    placementrules:
      - name: provided
        filter: {{type: allow, users: ["zqx-(alice|bob).*"], groups: [{GROUP}, zqx-staff]}}
      - {{name: fixed, value: {LEAF}}}
      - {{name: tag, value: zqx-tag, create: true}}
    nodesortpolicy:
      type: binpacking
      resourceweights: {{vcore: 2.0, {CHIP}: 1.0}}
    limits:
      - {{limit: for zqx people, users: [{USER}], maxresources: {{vcore: 3}}}}
      - {{limit: zqx, groups: [{GROUP}], maxapplications: 9}}
    queues:
      - name: root
        adminacl: "{USER},{OTHER} {GROUP}"
        submitacl: "*"
        queues:
          - name: zqx-hr
            properties: {{application.sort.policy: fair, zqx.key: zqx-value, priority.offset: zqx}}
            queues:
              - name: zqx@salaries:2026
                resources: {{max: {{vcore: 1, {CHIP}: 8}}}}
              - name: zqx-rest
          - name: zqx-made
            parent: true
            childtemplate:
              maxapplications: 3
              properties: {{application.sort.policy: fifo, zqx.other: zqx}}
              resources: {{max: {{{CHIP}: 4}}}}
"""


def registration() -> c.RegisterResourceManager:
    """How the RM registers."""
    extra = {"zqx.setting": "zqx-secret", "log.level": "zqx"}
    config = load_configuration(QUEUES)
    return c.RegisterResourceManager(RM, config, policy_group="zqx-policy", extra_config=extra)


def requests() -> tuple[Request, ...]:
    """What the RM sends, in order; some asks wait in the end."""
    resource = {"vcore": 1_000, CHIP: 1}
    node = c.NodeUpdate(NODE, c.CREATE, {"vcore": 8_000, CHIP: 16}, attributes={"zqx": "zqx-host"})
    names = (APPLICATION, f"{APPLICATION} 2", "zqx-third", "zqx-fourth")
    users = (USER, OTHER, USER, OTHER)
    leaves = (LEAF, LEAF, "root.zqx-hr.zqx-rest", "root.zqx-hr.zqx-rest")
    new = [
        c.NewApplication(
            name, leaf, user=user, groups=(GROUP,), tags={"zqx-tag": "zqx", "namespace": "zqx-ns"}
        )
        for name, leaf, user in zip(names, leaves, users, strict=True)
    ]
    required = {"yunikorn.apache.org/requiredNode": "zqx-absent", "zqx-tag": "zqx-value"}
    placed = [
        Ask(names[1], f"{ASK} 1", resource, task_group=TASKS),
        *[Ask(names[2], f"{ASK}{n}", {"vcore": 1_000}) for n in range(3)],
    ]
    waiting = [
        *[Ask(names[0], f"{ASK}{n}", resource, tags={"zqx": "zqx"}) for n in range(2)],
        Ask(names[1], ASK, resource),
        Ask(names[3], ASK, {"vcore": 1_000}, tags=required),
    ]
    return (
        c.UpdateNodes(RM, (node,)),
        c.UpdateApplications(RM, tuple(new)),
        c.UpdateAllocations(RM, asks=tuple(placed)),
        c.UpdateAllocations(RM, asks=tuple(waiting)),
    )


def worked() -> Scheduler:
    """The scheduler after that."""
    scheduler = Scheduler()
    for number, command in enumerate((registration(), *requests())):
        scheduler.handle(command, START + number)
        while scheduler.has_work():
            scheduler.step(START + number, 100)
    return scheduler


def break_amounts(scheduler: Scheduler) -> None:
    """Plant a fault in a node, an application, a queue and a limit."""
    (partition,) = scheduler._partitions
    broken: list[Any] = [
        next(iter(partition.nodes.values())),
        partition.applications[f"{APPLICATION} 2"],
        partition.queue(LEAF),
        next(each for each in partition.trackers.values() if each.allocated.amounts),
    ]
    for number, each in enumerate(broken):
        each.allocated.amounts[0] += 1 << number  # no two of them make up for one another
    partition.tag_characters += 1
