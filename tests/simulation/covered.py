"""Where each fault occurs that the scheduler has to survive, and what checks each promise.

Faults and promises are numbered as in the threat and failure model of the project (F and I). A
fault occurs in the worlds of ``test_faults`` under the names given, or in the test files given, or
both. ``OPEN`` says what has neither, and why.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Covered:
    """``what`` in a few words; ``seen``: counts of the worlds; ``files``: tests, below tests/."""

    what: str
    seen: tuple[str, ...] = ()
    files: tuple[str, ...] = ()


_FILTH: Final = ("absurd request",)

FAULTS: Final[dict[str, Covered]] = {
    "F1": Covered("the core dies", ("core restarted",), ("e2e/test_recovery.py",)),
    "F2": Covered("the core stands still", ("machine stood still",)),
    "F3": Covered("an RM dies", ("RM restarted", "RM restarted during its replay", "RM given up")),
    "F4": Covered("an RM reads nothing", ("RM too slow",), ("unit/edges/test_outbound.py",)),
    "F5": Covered("an RM is slow", ("slow message",), ("unit/edges/test_outbound.py",)),
    "F6": Covered("a connection is half open", (), ("e2e/test_half_open.py",)),
    "F7": Covered("a message is cut", (), ("e2e/test_client_disconnect.py",)),
    "F8": Covered("a message comes twice", ("doubled ask", "doubled release", "echoed ask")),
    "F9": Covered("streams overtake one another", (), ("simulation/test_small_models.py",)),
    "F10": Covered("an RM registers twice", ("registered again",)),
    "F11": Covered("storm of registrations", ("storm of registrations",)),
    "F13": Covered("absurd values", _FILTH, ("unit/core/test_unreadable.py",)),
    "F14": Covered("a message bomb", (), ("e2e/test_grpc_attacks.py",)),
    "F15": Covered("a flood of asks", ("flood of asks", "ask beyond a limit")),
    "F16": Covered("a flood of nodes", ("flood of nodes", "node added again")),
    "F17": Covered("a node is lost", ("node lost", "node lost under both sides of a replacement")),
    "F18": Covered("a node shrinks", ("node resized",)),
    "F19": Covered("allocations of unknown things", ("existing allocation refused", *_FILTH)),
    "F20": Covered("a release crosses an order", ("order for something that ended",)),
    "F21": Covered("a reserved ask goes", ("preemption lost the ask is gone",)),
    "F22": Covered("the wall clock jumps", ("wall clock set",), ("e2e/test_time.py",)),
    "F23": Covered("the disk is full", (), ("unit/runtime/test_journal.py",)),
    "F24": Covered("a torn file", (), ("unit/runtime/test_journal.py",)),
    "F25": Covered("no memory", ("ordered MemoryError",)),
    "F27": Covered("no file descriptor", (), ("e2e/test_exhausted_descriptors.py",)),
    "F28": Covered("a huge configuration", (), ("unit/config/test_bounds.py",)),
    "F29": Covered("a YAML bomb", (), ("unit/config/test_bounds.py",)),
    "F30": Covered("a contradictory configuration", ("reload refused",)),
    "F31": Covered("a reload in the middle", ("reload during a replay", "reload: queue removed")),
    "F32": Covered("slow HTTP requests", (), ("unit/edges/rest/test_server.py",)),
    "F34": Covered("stalled event streams", (), ("e2e/test_events.py",)),
    "F35": Covered("REST clients ask for all", (), ("unit/edges/rest/test_large_answers.py",)),
    "F36": Covered("predicates fail", (), ("unit/edges/test_predicates.py",)),
    "F37": Covered("a user lookup hangs", (), ("e2e/test_ldap.py",)),
    "F38": Covered("SIGTERM", (), ("e2e/test_serve.py",)),
    "F39": Covered(
        "any exception in the core",
        ("dropped after a fault of the core", "ordered KeyError", "fault of the core on its own"),
        ("property/test_contained_faults.py", "e2e/test_contained_faults.py"),
    ),
    "F40": Covered("the builds disagree", (), ("property/test_determinism.py",)),
    "F41": Covered("wrong certificates", (), ("e2e/test_grpc_security.py",)),
    "F42": Covered("wrong tokens", (), ("e2e/test_tokens.py",)),
    "F44": Covered("tricks with paths", _FILTH, ("unit/edges/rest/test_paths.py",)),
}

_FULL: Final = ("property/test_corruption.py", "simulation/test_audit.py")
_WORLDS: Final = ("simulation/test_faults.py", "simulation/test_faults_found.py")
_SMALL: Final = ("simulation/test_small_models.py",)
_SLOW_MODEL: Final = ("property/test_reference.py", "property/test_planted_faults.py")

INVARIANTS: Final[dict[str, Covered]] = {
    "I1": Covered("a node's amounts add up", (), _FULL),
    "I2": Covered("no node is overfilled", ("placement judged",), _FULL),
    "I3": Covered("a partition's amounts add up", (), _FULL),
    "I4": Covered("a queue's amounts add up", (), _FULL),
    "I5": Covered("an application's amounts add up", (), _FULL),
    "I6": Covered("no queue exceeds its maximum", ("placement judged",), _FULL),
    "I7": Covered("a user's amounts add up", (), _FULL),
    "I8": Covered(
        "no user or group exceeds a limit",
        ("placement under a limit of its user", "placement under a limit of its group"),
        _FULL,
    ),
    "I9": Covered(
        "no more applications start than may",
        (
            "start within a number of applications",
            "start within a number of a user's applications",
        ),
        _FULL,
    ),
    "I10": Covered("amounts are integers", (), ("property/test_resources.py",)),
    "I11": Covered("reservations are no usage", (), _FULL),
    "I12": Covered("victims add up", (), _FULL),
    "I14": Covered("an allocation is in one place", (), _FULL),
    "I15": Covered("an application is in one leaf", (), _FULL),
    "I16": Covered("the order of nodes is right", ("flood of nodes",), _FULL),
    "I17": Covered("the order of queues is right", (), _FULL),
    "I18": Covered("what waits cannot be placed", (), _FULL),
    "I19": Covered("identities are used once", ("placed",), _WORLDS),
    "I21": Covered("each ask ends in one way", ("placed",), _WORLDS),
    "I22": Covered("an allocation is told once", ("doubled new",), _WORLDS),
    "I23": Covered("a release counts once", ("release of something unknown",), _WORLDS),
    "I24": Covered("effects are those of some order", (), _SMALL),
    "I25": Covered("an application is answered once", ("doubled application",), _WORLDS),
    "I26": Covered("a registration begins anew", ("registered again",), _WORLDS),
    "I27": Covered("a slow RM delays itself only", (), ("unit/edges/test_outbound.py",)),
    "I28": Covered("events have an order", (), ("e2e/test_event_store.py",)),
    "I29": Covered("answers are consistent", (), ("property/test_self_audit.py",)),
    "I30": Covered("the node takes what is placed", ("placement judged",), _FULL[1:]),
    "I31": Covered("a required node", ("placement on a required node",), _FULL[1:]),
    "I32": Covered("gangs start whole", ("real ask of a gang placed",), _FULL[1:]),
    "I33": Covered("placeholders are counted", (), ("property/test_corrupted_gangs.py",)),
    "I34": Covered("victims are chosen by the laws", (), ("property/test_corrupted_choices.py",)),
    "I35": Covered("a lost preemption ends", ("preemption lost the ask is gone",), _WORLDS),
    "I36": Covered("the order is that of the slow model", (), _SLOW_MODEL),
    "I37": Covered("what fits is placed", ("ask looked at for room",), _WORLDS),
    "I38": Covered("no reservation outlives its ask", (), _FULL),
    "I39": Covered("what is empty goes", (), ("unit/core/test_draining.py",)),
    "I40": Covered("no room is left idle", ("ask looked at for room",), _WORLDS),
    "I41": Covered("the same inputs, the same effects", (), ("property/test_determinism.py",)),
    "I42": Covered("a refused configuration changes nothing", ("reload refused",), _WORLDS),
    "I43": Covered("a reload equals a fresh start", (), ("property/test_reload.py",)),
    "I44": Covered("no input ends the process", ("absurd request",), _WORLDS),
    "I45": Covered("a death loses nothing", ("core restarted",), (*_WORLDS, *_SMALL)),
    "I46": Covered("nobody does what he may not", (), ("e2e/test_rest_access.py",)),
    "I47": Covered("what is kept has a limit", ("ask beyond a limit",), _WORLDS),
}

OPEN: Final = {
    "F12": "malformed bytes are for the fuzzers; no test here is named for them",
    "F33": "headers are bounded in e2e/test_grpc_attacks.py; resets and pings are not tried there",
    "F43": "no test here parses logs and metrics after hostile texts",
    "I13": "no test here compares all gauges with the model",
    "F26": "a starved processor needs a limited process, and figures of one",
    "F45": "two cores with one RM are tried in processes only",
    "I20": "what is left after everything ended is not counted in worlds",
}
