"""A report as people read it. It has all that the JSON form has."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import yaml

from remuda.base.amount_text import amounts_text
from remuda.base.texts import shown


def report_text(report: Mapping[str, Any]) -> str:
    """Return a report in lines. Rules: EXT-76, EXT-145."""
    return "\n".join([shown(line) for line in _lines(report)])


def _lines(report: Mapping[str, Any]) -> Iterator[str]:
    machine = f"Python {report['python']}, {report['machine']}"
    yield f"Report of {report['made by']}, {machine}"
    if report["pseudonyms"]:
        yield "Names are replaced by random numbers; they cannot be found from this report."
    else:
        yield "Names are those of the files. --pseudonymise replaces them."
    for each in report["files"]:
        yield ""
        yield from _file(each)
    yield ""
    yield _result(report)


def _result(report: Mapping[str, Any]) -> str:
    if not report["sound"]:
        return "Result: something is wrong, see above."
    if not report["whole"]:
        return "Result: nothing is wrong in the part that was read."
    return "Result: nothing is wrong."


def _file(told: Mapping[str, Any]) -> Iterator[str]:
    yield f"=== {told['file']}: {told['kind']} ==="
    for key in ("written by", "format", "segments", "bytes", "first input", "began at"):
        if key in told:
            yield f"{key}: {told[key]}"
    if "cut off" in told:
        yield f"cut off: {told['cut off']}"
    if "replay" in told:
        yield from _replay(told["replay"])
    yield f"state at: {told['state at'] or 'an unknown time'}"
    yield from _violations(told.get("violations", ()))
    yield from _partitions(told.get("partitions", ()))
    yield from _oddities(told.get("odd", ()))
    yield from _waiting(told.get("waiting", ()))
    yield from _configurations(told.get("configurations", ()))


def _replay(replay: Mapping[str, Any]) -> Iterator[str]:
    first, last = replay["first input"], replay["last input"]
    if not last:
        yield "replay: no input was repeated"
    else:
        yield (
            f"replay: inputs {first} ({replay['first input at']}) to {last} "
            f"({replay['last input at']}), {replay['compared']} compared"
        )
    if replay["differs at"]:
        what = f"input {replay['differs at']} ({replay['differing input']})"
        yield f"  DIFFERENT at {what}: {replay['difference']}"
    elif last:
        yield "  all effects are the same"
    if replay["torn"]:
        yield f"  it breaks off {replay['torn']}: the process was killed, or it still writes"
    if replay["damaged"]:
        yield f"  DAMAGED: {replay['damaged']}"
    if not replay["whole"] and not replay["differs at"] and not replay["damaged"]:
        yield "  the time was over before the end; --for SECONDS gives more"


def _violations(found: Any) -> Iterator[str]:
    yield ""
    if not found:
        yield "Invariants: all hold."
        return
    yield f"Invariants: {len(found)} VIOLATIONS"
    for each in found:
        where = f", {each['at']}" if each.get("at") else ""
        reference = f", {each['reference']}" if each.get("reference") else ""
        yield f"  {each['object']}, {each['value']}{reference}: {each['text']}{where}"


def _partitions(found: Any) -> Iterator[str]:
    yield ""
    if isinstance(found, str):
        yield f"Partitions: {found}"
        return
    if not found:
        yield "Partitions: none; no resource manager is registered."
    for each in found:
        yield f"Partition {each['partition']} of {each['rm']} ({each['status']})"
        yield f"  queues: {each['queues']}, {each['leaves']} of them leaves"
        states = [f"{number} {state}" for state, number in each["applications"].items()]
        yield f"  applications: {', '.join(states) or 'none'}"
        yield f"  nodes: {each['nodes']}, with {amounts_text(each['capacity'])}"
        placeholders = f", {each['placeholders']} of them placeholders" * bool(each["placeholders"])
        used = amounts_text(each["allocated"])
        yield f"  allocations: {each['allocations']}{placeholders}, with {used}"
        yield f"  asks that wait: {each['waiting asks']}, reservations: {each['reservations']}"


def _oddities(found: Any) -> Iterator[str]:
    if not found:
        return
    yield ""
    if isinstance(found, str):
        yield f"Allowed, but odd: {found}"
        return
    yield "Allowed, but odd:"
    for each in found:
        yield f"  {each}"


def _waiting(found: Any) -> Iterator[str]:
    yield ""
    if isinstance(found, str):
        yield f"Applications that wait: {found}"
        return
    if not found:
        yield "Applications that wait: none."
        return
    yield "Applications that wait longest, with the ask that is served next:"
    for each in found:
        asks = "1 ask" if each["asks"] == 1 else f"{each['asks']} asks"
        yield (
            f"  {each['application']} in {each['queue']}: {each['seconds']} s, {asks} "
            f"for {amounts_text(each['pending'])}; {each['ask']}: {each['reason']}"
        )
        if len(each["reasons"]) > 1:
            counted = [f"{why['asks']} {why['reason']}" for why in each["reasons"]]
            yield f"    of its asks: {'; '.join(counted)}"


def _configurations(found: Any) -> Iterator[str]:
    if isinstance(found, str):
        yield ""
        yield f"Configuration: {found}"
        return
    for each in found:
        yield ""
        group = f" (policy group {each['policy group']})" if each["policy group"] else ""
        yield f"Configuration of {each['rm']}{group}, as a queue file:"
        yield f"  # settings: {', '.join(each['settings']) or 'none'}"
        text = yaml.safe_dump({"partitions": each["partitions"]}, sort_keys=False, width=1 << 16)
        for line in text.splitlines():
            yield f"  {line}"
