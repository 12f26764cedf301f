"""The report for machines: JSON, and the XML that build servers read from test programs."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from collections.abc import Sequence

from remuda.conformance.endpoint import Endpoint
from remuda.conformance.failures import Failure
from remuda.conformance.report import printable
from remuda.conformance.runner import Outcome, Result


def as_json(results: Sequence[Result], endpoint: Endpoint, seconds: float) -> str:
    """Return all results as one JSON object."""
    known = endpoint.capabilities
    report = {
        "address": endpoint.address,
        "rest": endpoint.rest,
        "core_version": known.core_version if known else "",
        "si_level": known.si_level if known else "",
        "seconds": round(seconds, 3),
        **{outcome.value.replace(" ", "_"): _count(results, outcome) for outcome in Outcome},
        "checks": [_check(result) for result in results],
    }
    return json.dumps(report, indent=2) + "\n"


def as_junit(results: Sequence[Result], seconds: float) -> str:
    """Return all results as JUnit XML: a suite with a case per check."""
    suite = ET.Element(
        "testsuite",
        name="remuda conformance",
        tests=str(len(results)),
        failures=str(_count(results, Outcome.FAILED)),
        skipped=str(_count(results, Outcome.NOT_APPLICABLE)),
        errors="0",
        time=f"{seconds:.3f}",
    )
    for result in results:
        subject = result.check.name.partition(".")[0]
        case = ET.SubElement(
            suite,
            "testcase",
            classname=subject,
            name=result.check.word,
            time=f"{result.seconds:.3f}",
        )
        if result.failure is not None:
            failure = ET.SubElement(case, "failure", message=_message(result.failure))
            failure.text = _story(result.failure)
        elif result.outcome is Outcome.NOT_APPLICABLE:
            ET.SubElement(case, "skipped", message=printable(result.why))
    ET.indent(suite)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(suite, "unicode") + "\n"


def _count(results: Sequence[Result], outcome: Outcome) -> int:
    return sum(result.outcome is outcome for result in results)


def _check(result: Result) -> dict[str, object]:
    check, failure = result.check, result.failure
    return {
        "name": check.name,
        "title": check.title,
        "rules": list(check.rules),
        "level": check.level.value,
        "needs": [need.value for need in check.needs],
        "outcome": result.outcome.value,
        "seconds": round(result.seconds, 3),
        "why": result.why,
        "failure": None
        if failure is None
        else {
            "rule": failure.rule,
            "sent": list(failure.sent),
            "expected": failure.expected,
            "came": list(failure.came),
        },
    }


def _message(failure: Failure) -> str:
    return printable(f"{failure.rule}: expected {failure.expected.replace(chr(10), ' ')}")


def _story(failure: Failure) -> str:
    lines = [
        *(f"sent: {line}" for line in failure.sent),
        *(f"expected: {line}" for line in failure.expected.split("\n")),
        *(f"came: {line}" for line in failure.came),
    ]
    return "\n".join(printable(line) for line in lines)
