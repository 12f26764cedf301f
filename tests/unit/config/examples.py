"""Configuration texts that several tests read."""

from __future__ import annotations

# The full example of chapter 10, section 7.
FULL = """\
partitions:
  - name: DEFAULT
    limits:
      - {limit: all users, users: ["*"], maxresources: {memory: 40G}}
    placementrules:
      - {name: provided, create: true}
      - {name: fixed, value: root.adhoc}
    nodesortpolicy: {type: binpacking, resourceweights: {vcore: 2, memory: 1}}
    queues:
      - name: root
        submitacl: "*"
        properties: {application.sort.priority: disabled}
        childtemplate: {maxapplications: 3, resources: {max: {memory: 8G, vcore: 4}}}
        queues:
          - {name: adhoc, maxapplications: 10}
          - name: Teams
            properties: {preemption.policy: disabled, priority.offset: "100"}
            queues:
              - {name: red, resources: {guaranteed: {memory: 2Gi}, max: {memory: 20G}}}
              - {name: blue, parent: true, properties: {application.sort.policy: fair}}
"""
