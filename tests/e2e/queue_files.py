"""Queue files of tests: one queue, two queues, and the same with a third."""

from __future__ import annotations

ONE = """\
partitions:
  - name: default
    queues:
      - name: root
        submitacl: "*"
        queues: [{name: a}]
"""
TWO = """\
partitions:
  - name: default
    queues:
      - name: root
        submitacl: "*"
        queues: [{name: a}, {name: b}]
"""
THREE = TWO.replace("{name: b}", "{name: b}, {name: c}")
