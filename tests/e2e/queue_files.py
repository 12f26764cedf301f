"""Queue files of tests: two queues, and the same with a third."""

from __future__ import annotations

TWO = """\
partitions:
  - name: default
    queues:
      - name: root
        submitacl: "*"
        queues: [{name: a}, {name: b}]
"""
THREE = TWO.replace("{name: b}", "{name: b}, {name: c}")
