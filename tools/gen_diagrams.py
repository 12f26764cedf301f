"""Draw the life of applications, queues and resource managers from the tables that decide them.

--check tells whether the pictures in docs/images are up to date. The arrows, their labels and the
states come from the tables: of the core's code, and for resource managers of chapter 70, whose
states several modules keep together. Only places are chosen here, so a new state needs one.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Final

from remuda.core.messages import gates
from remuda.core.model import states
from remuda.core.model.asks import blocked
from tools.drawing import Arrow, Layout, Machine, Route, draw, faults

ROOT = Path(__file__).resolve().parent.parent
IMAGES = ROOT / "docs/images"
INTERFACE = ROOT / "docs/spec/70-scheduler-interface.md"

# Columns and rows of the application picture.
_C: Final = [92 + 186 * number for number in range(7)]
_MAIN: Final = 258
_COMPLETE: Final = 186
_FAIL: Final = 330
_RESUME: Final = 132
_REJECT: Final = 40
_END: Final = 400

# ------------------------------------------------------------------------------ applications


def application() -> Machine:
    """The life of an application (chapter 80 section 1)."""
    arrows = tuple(
        Arrow(source, event.removesuffix("Application"), target)
        for (source, event), target in states.APPLICATION.items()
    )
    return Machine("application", "The states of an application", states.NEW, arrows)


def _down(column: int) -> Route:
    """Failing, over the line below the main row."""
    x = _C[column]
    via = () if column == 4 else ((x, _FAIL), (_C[4], _FAIL))
    return Route(("bottom", 0), ("top", 0), via, (x + 7, _MAIN + 44))


def _up(column: int, off: float) -> Route:
    """Completing, over the line above the main row."""
    x = _C[column] + off
    return Route(
        ("top", off), ("top", 0), ((x, _COMPLETE), (_C[4], _COMPLETE)), (x + 7, _MAIN - 44)
    )


APPLICATION: Final = Layout(
    size=(1280, 436),
    places={
        "New": (_C[0], _MAIN),
        "Accepted": (_C[1], _MAIN),
        "Starting": (_C[2], _MAIN),
        "Running": (_C[3], _MAIN),
        "Completing": (_C[4], _MAIN),
        "Completed": (_C[5], _MAIN),
        "Expired": (_C[6], _MAIN),
        "Rejected": (_C[0], _REJECT),
        "Resuming": (_C[1], _RESUME),
        "Failing": (_C[4], _END),
        "Failed": (_C[5], _END),
    },
    routes={
        ("New", "Accepted"): Route(("right", 0), ("left", 0), (), (_C[0] + 84, _MAIN - 7)),
        ("Resuming", "Accepted"): Route(
            ("bottom", -22), ("top", -22), (), (_C[1] - 29, _COMPLETE - 8), "end"
        ),
        ("Accepted", "Resuming"): Route(("top", 6), ("bottom", 6), (), (_C[1] + 13, _COMPLETE - 8)),
        ("New", "Failing"): _down(0),
        ("Accepted", "Failing"): _down(1),
        ("Starting", "Failing"): _down(2),
        ("Running", "Failing"): _down(3),
        ("Completing", "Failing"): _down(4),
        ("Resuming", "Failing"): Route(
            ("left", 10),
            ("top", 0),
            ((_C[0] + 74, _RESUME + 10), (_C[0] + 74, _FAIL), (_C[4], _FAIL)),
            (_C[0] + 81, _RESUME + 46),
        ),
        ("Accepted", "Completing"): _up(1, 36),
        ("Starting", "Completing"): _up(2, 0),
        ("Resuming", "Completing"): Route(
            ("right", 0),
            ("top", 0),
            ((_C[4], _RESUME),),
            (_C[1] + 62, _RESUME - 7),
        ),
        ("New", "Rejected"): Route(
            ("top", -20), ("bottom", -20), (), (_C[0] - 27, _RESUME + 20), "end"
        ),
        ("New", "Resuming"): Route(
            ("top", 20),
            ("left", -10),
            ((_C[0] + 20, _RESUME - 10),),
            (_C[0] + 32, _RESUME - 17),
        ),
        ("Rejected", "Expired"): Route(
            ("right", 0), ("top", 0), ((_C[6], _REJECT),), (_C[0] + 62, _REJECT - 7)
        ),
        ("Failed", "Expired"): Route(
            ("right", 0), ("bottom", 0), ((_C[6], _END),), (_C[5] + 62, _END - 7)
        ),
    },
    kinds={
        "fail": "bad",
        "reject": "bad",
        "resume": "bad",
        "expire": "old",
    },
    over=frozenset((states.COMPLETED, states.FAILED, states.REJECTED, states.EXPIRED)),
)

# ------------------------------------------------------------------------ queues, partitions


def queue() -> Machine:
    """The life of a queue or a partition (chapter 80 section 2)."""
    arrows = tuple(
        Arrow(source, event.lower(), target) for (source, event), target in states.OBJECT.items()
    )
    return Machine("queue", "The states of queues and partitions", states.ACTIVE, arrows)


QUEUE: Final = Layout(
    size=(900, 312),
    places={"Active": (220, 76), "Draining": (680, 76), "Stopped": (450, 226)},
    routes={
        ("Stopped", "Stopped"): Route(
            ("bottom", -16), ("bottom", 16), ((434, 274), (466, 274)), (450, 292), "middle"
        )
    },
    kinds={"remove": "bad", "stop": "bad"},
)

# ---------------------------------------------------------------------------------- managers

_ROW: Final = re.compile(r"^\| ([^|]+) \| ([^|]+) \| ([^|]+) \| [^|]* \|$", re.MULTILINE)
_GONE: Final = "-"
_UNKNOWN: Final = "not known"


def manager() -> Machine:
    """The life of a resource manager: the table of chapter 70 section 2."""
    text = INTERFACE.read_text()
    begin = text.index("### RM states")
    rows = _ROW.findall(text[begin : text.index("- RM-14", begin)])
    arrows = tuple(
        Arrow(source.strip().replace(_GONE, _UNKNOWN), event, _state(target))
        for sources, event, target in rows
        if sources != "From"
        for source in sources.split(",")
    )
    return Machine("resource manager", "The states of a resource manager", _UNKNOWN, arrows)


def _state(target: str) -> str:
    return _UNKNOWN if target == _GONE else target


MANAGER: Final = Layout(
    size=(1000, 320),
    places={
        _UNKNOWN: (100, 96),
        "INIT": (330, 96),
        "RUNNING": (610, 96),
        "PAUSED": (890, 96),
        "STOPPED": (610, 276),
    },
    routes={
        ("PAUSED", "INIT"): Route(
            ("top", 0), ("top", 0), ((890, 30), (330, 30)), (774, 23), "middle"
        ),
        ("PAUSED", "STOPPED"): Route(("bottom", 0), ("right", 0), ((890, 276),), (674, 254)),
        ("STOPPED", "INIT"): Route(("left", 0), ("bottom", 0), ((330, 276),), (339, 190)),
    },
    kinds={
        "failure": "bad",
        "connection loss": "bad",
        "`rm.pauseTimeout` elapsed": "bad",
        "voluntary shutdown": "bad",
    },
    words={
        "first request of `Register` / `Hello.register`": "register",
        "stream reopened or resumed in time": "back in time",
        "`rm.pauseTimeout` elapsed": "away for rm.pauseTimeout",
    },
    over=frozenset({_UNKNOWN, "STOPPED"}),
)

# ------------------------------------------------------------------------------ waiting asks

# The reasons to be blocked, from top to bottom, and the events that unblock whatever the reason.
_REASONS: Final = (
    gates.NOT_SERVED,
    gates.MAX_APPLICATIONS,
    gates.USER_QUOTA,
    gates.QUEUE_QUOTA,
    gates.GANG,
    gates.NODES,
    gates.REQUIRED_NODE,
    gates.AWAITING_PREDICATES,
    gates.POSTPONED,
)
_ALWAYS: Final = (blocked.NEW_ASK, blocked.SETTINGS)
_ROWS: Final = {reason: 60 + 84 * number for number, reason in enumerate(_REASONS)}
_READY_X: Final = 130
_READY_Y: Final = 438
_REASON_X: Final = 640


def waiting() -> Machine:
    """The places of a waiting ask (docs/spec, CYC-25)."""
    arrows = [Arrow(blocked.READY, f"blocked: {reason}", reason) for reason in _REASONS]
    arrows += [
        Arrow(reason, event, blocked.READY)
        for reason in _REASONS
        for event, reasons in blocked.UNBLOCKS.items()
        if reason in reasons and event not in _ALWAYS
    ]
    title = "Where a waiting ask is; a new ask and changed settings unblock as well"
    return Machine("waiting", title, blocked.READY, tuple(arrows))


WAITING: Final = Layout(
    size=(1000, 780),
    places={
        blocked.READY: (_READY_X, _READY_Y),
        **{reason: (_REASON_X, y) for reason, y in _ROWS.items()},
    },
    routes={
        **{
            (reason, blocked.READY): Route(
                ("left", 0), ("right", 0), ((300, y), (300, _READY_Y)), (312, y + 17)
            )
            for reason, y in _ROWS.items()
        },
        **{
            (blocked.READY, reason): Route(
                ("top", 0),
                ("right", 0),
                ((_READY_X, 16), (940, 16), (940, y)),
                (_REASON_X + 104, y - 8),
            )
            for reason, y in _ROWS.items()
        },
    },
    kinds={f"blocked: {reason}": "bad" for reason in _REASONS},
    words={f"blocked: {reason}": "blocked" for reason in _REASONS},
    width=184.0,
)

PICTURES: Final = {
    "application-states.svg": (application, APPLICATION),
    "queue-states.svg": (queue, QUEUE),
    "manager-states.svg": (manager, MANAGER),
    "ask-states.svg": (waiting, WAITING),
}


def main() -> int:
    """Write the pictures, or with --check compare them; 1 if one is wrong or differs."""
    wrong = [fault for make, layout in PICTURES.values() for fault in faults(make(), layout)]
    for fault in wrong:
        print(f"tools/gen_diagrams.py: {fault}")
    if wrong:
        return 1
    fresh = {IMAGES / name: draw(make(), layout) for name, (make, layout) in PICTURES.items()}
    stale = [path for path, text in fresh.items() if not path.exists() or path.read_text() != text]
    if "--check" in sys.argv[1:]:
        for path in stale:
            print(f"{path.relative_to(ROOT)} is not up to date: run make diagrams")
        return 1 if stale else 0
    for path in stale:
        path.write_text(fresh[path])
    return 0


if __name__ == "__main__":
    sys.exit(main())
