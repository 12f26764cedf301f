"""Checks the result of a simulation from its files alone, sharing no code with the product.

    python tests/simulation/check_pending.py NODES WORKLOAD ALLOCATIONS

Reads a node list and a workload (Alibaba GPU or remuda format, plain or .gz) and allocations.csv.
Says what is wrong and exits with 1 when a task was placed twice, on a node that does not exist or
whose model it does not accept, or before it was submitted; when a node holds more than it has at
any time; or when a task that was never placed would fit on a node as it is at the end.
"""

from __future__ import annotations

import csv
import gzip
import sys
from collections import defaultdict
from fractions import Fraction
from pathlib import Path

Amounts = dict[str, int]
NOT_RESOURCES = ("task", "submit", "duration", "application", "queue", "user", "class", "priority")


def table(path: Path) -> list[dict[str, str]]:
    """Return the rows of a CSV file by column."""
    content = path.read_bytes()
    text = gzip.decompress(content) if path.suffix == ".gz" else content
    return list(csv.DictReader(text.decode().splitlines()))


def read_nodes(path: Path) -> dict[str, tuple[str, Amounts]]:
    """Return model and capacity of each node."""
    nodes = {}
    for row in table(path):
        if "sn" in row:
            has = {
                "vcore": int(row["cpu_milli"]),
                "memory": int(row["memory_mib"]) * 2**20,
                "gpu": int(row["gpu"]) * 1000,
            }
            nodes[row["sn"]] = (row["model"], has)
        else:
            nodes[row["node"]] = ("", {key: int(row[key]) for key in row if key != "node"})
    return nodes


def read_tasks(path: Path) -> dict[str, tuple[set[str], Amounts]]:
    """Return the accepted models (none: any) and the wish of each task that has one."""
    tasks = {}
    for row in table(path):
        models: set[str] = set()
        if "cpu_milli" in row:
            milli = int(row["gpu_milli"]) if row["num_gpu"] == "1" else int(row["num_gpu"]) * 1000
            wish = {
                "vcore": int(row["cpu_milli"]),
                "memory": int(row["memory_mib"]) * 2**20,
                "gpu": milli,
            }
            if row.get("gpu_spec"):
                models = set(row["gpu_spec"].split("|"))
            name = row["name"]
        else:
            wish = {key: int(row[key]) for key in row if key not in NOT_RESOURCES}
            name = row["task"]
        if any(wish.values()):
            tasks[name] = (models, wish)
    return tasks


def fits(wish: Amounts, free: Amounts) -> bool:
    """Return whether every amount wished is there."""
    return all(free.get(name, 0) >= amount for name, amount in wish.items())


def placement_faults(
    nodes: dict[str, tuple[str, Amounts]],
    tasks: dict[str, tuple[set[str], Amounts]],
    rows: list[dict[str, str]],
) -> list[str]:
    """Return what is wrong with single rows of allocations.csv."""
    faults = []
    seen = set()
    for row in rows:
        task, node = row["task"], row["node"]
        if task in seen:
            faults.append(f"{task} was placed twice")
        seen.add(task)
        if task not in tasks or node not in nodes:
            faults.append(f"{task} on {node}: no such task or node")
            continue
        if tasks[task][0] and nodes[node][0] not in tasks[task][0]:
            faults.append(f"{task} does not accept {node}'s model {nodes[node][0]!r}")
        if Fraction(row["start"]) < Fraction(row["submit"]):
            faults.append(f"{task} started before it was submitted")
    return faults


def overcommitment(
    nodes: dict[str, tuple[str, Amounts]],
    tasks: dict[str, tuple[set[str], Amounts]],
    rows: list[dict[str, str]],
) -> tuple[list[str], dict[str, Amounts]]:
    """Return who held too much at some time, and what is free on each node at the end."""
    changes = defaultdict(list)
    for row in rows:
        wish = tasks[row["task"]][1]
        start = Fraction(row["start"])
        if row["end"] and Fraction(row["end"]) == start:
            continue
        changes[row["node"]].append((start, 1, wish))
        if row["end"]:
            changes[row["node"]].append((Fraction(row["end"]), 0, wish))
    faults = []
    free = {node: dict(has) for node, (_, has) in nodes.items()}
    for node, happenings in changes.items():
        for time, starts, wish in sorted(happenings, key=lambda each: each[:2]):
            for name, amount in wish.items():
                left = free[node].get(name, 0) - (amount if starts else -amount)
                free[node][name] = left
                if left < 0:
                    faults.append(f"{node} lacks {-left} {name} at {time}")
    return faults, free


def check(nodes_path: Path, workload_path: Path, allocations_path: Path) -> tuple[list[str], int]:
    """Return everything that is wrong, and how many tasks are pending."""
    nodes = read_nodes(nodes_path)
    tasks = read_tasks(workload_path)
    rows = table(allocations_path)
    faults = placement_faults(nodes, tasks, rows)
    if faults:
        return faults, 0
    faults, free = overcommitment(nodes, tasks, rows)
    placed = {row["task"] for row in rows}
    pending = [name for name in tasks if name not in placed]
    for name in pending:
        models, wish = tasks[name]
        for node, (model, _) in nodes.items():
            if (not models or model in models) and fits(wish, free[node]):
                faults.append(f"{name} is pending and fits on {node}")
                break
    return faults, len(pending)


def main(arguments: list[str]) -> int:
    """Check three files, print what was found."""
    nodes, workload, allocations = map(Path, arguments)
    faults, pending = check(nodes, workload, allocations)
    for fault in faults:
        print(fault)
    print(f"{pending} tasks pending, {len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
