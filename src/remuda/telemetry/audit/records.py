"""What an audit record says: the table of deeds, the fields, and the line of JSON they become.

Texts come from callers, who may be hostile. So each text is cut, and everything but printable ASCII
is escaped: a line stays one line, and shows on any terminal without effects.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final, TypeAlias

from remuda.base.duration import SECOND
from remuda.base.message import message
from remuda.base.texts import shortened

# The deeds, by the name that stands in a record.
START: Final = "start"
STOP: Final = "stop"
REGISTER: Final = "register"
REPLACE: Final = "replace"
UNREGISTER: Final = "unregister"
ATTACH: Final = "attach"
RESUME: Final = "resume"
CONFIGURE: Final = "configure"
STORE_CONFIGURATION: Final = "store-configuration"
RELOAD_CONFIGURATION: Final = "reload-configuration"
RELOAD_ACCESS: Final = "reload-access"
REVOKE: Final = "revoke"
CHANGE_STATE: Final = "change-state"
SET_LOG_LEVEL: Final = "set-log-level"
READ_STATE_DUMP: Final = "read-state-dump"
READ_DEBUG: Final = "read-debug"
FOLLOW_JOURNAL: Final = "follow-journal"
SUBMIT_COMMAND: Final = "submit-command"
CANCEL_COMMAND: Final = "cancel-command"
AUTHENTICATE: Final = "authenticate"
AUTHORIZE: Final = "authorize"
LOCK_OUT: Final = "lock-out"

# All deeds, and what each means. No other name may stand in a record or be the label of a metric.
DEEDS: Final[Mapping[str, str]] = {
    START: "the scheduler began to serve",
    STOP: "the scheduler ends",
    REGISTER: "a resource manager registered",
    REPLACE: "a resource manager registered in the place of a registration that it ended",
    UNREGISTER: "a resource manager was removed with all it had",
    ATTACH: "a session took over the callbacks of a resource manager that uses the plain streams",
    RESUME: "a session went on over another connection",
    CONFIGURE: "the configuration of one resource manager was replaced",
    STORE_CONFIGURATION: "the document of a policy group was replaced or taken away",
    RELOAD_CONFIGURATION: "the file of --config was read again",
    RELOAD_ACCESS: "a file of --grpc-access or --rest-access was read again",
    REVOKE: "open calls were ended: their identity is gone, has other rights, or its token expired",
    CHANGE_STATE: "a queue or a partition was started or stopped, a node was drained or undrained",
    SET_LOG_LEVEL: "the level of a logger was changed",
    READ_STATE_DUMP: "a state dump was read",
    READ_DEBUG: "stacks, a profile or memory were looked at",
    FOLLOW_JOURNAL: "somebody began to follow the journal",
    SUBMIT_COMMAND: "a command was submitted to the local node",
    CANCEL_COMMAND: "a command of the local node was cancelled",
    AUTHENTICATE: "a caller could not prove its identity",
    AUTHORIZE: "a known caller asked for something that its identity may not do",
    LOCK_OUT: "an address is refused for a while, because too many wrong tokens came from it",
}

# The outcomes. UNKNOWN: the caller was gone before the answer; the deed may have been done.
DONE: Final = "done"
REFUSED: Final = "refused"
UNKNOWN: Final = "unknown"

# Characters of one text.
TEXT_LIMIT: Final = 256


@message
class Record:
    """One deed.

    ``who``: the identity of the caller, or the name in its certificate; "" if neither is known.
    ``origin``: the address of the caller. ``target``: the object or the method. ``reason``: why it
    was refused, or why it happened. ``replaced``: the connection that a registration ended.
    ``queue``: the one that a command named.
    """

    what: str
    outcome: str = DONE
    who: str = ""
    rm_id: str = ""
    origin: str = ""
    target: str = ""
    reason: str = ""
    replaced: str = ""
    queue: str = ""


# Takes a record. Any thread; it returns at once.
Audit: TypeAlias = Callable[[Record], None]


def no_audit(_record: Record) -> None:
    """Ignore a record: the default where nobody keeps an audit log."""


def bounded(record: Record) -> Record:
    """Return a record whose texts have a bounded length."""
    return replace(
        record,
        who=shortened(record.who, TEXT_LIMIT),
        rm_id=shortened(record.rm_id, TEXT_LIMIT),
        origin=shortened(record.origin, TEXT_LIMIT),
        target=shortened(record.target, TEXT_LIMIT),
        reason=shortened(record.reason, TEXT_LIMIT),
        replaced=shortened(record.replaced, TEXT_LIMIT),
        queue=shortened(record.queue, TEXT_LIMIT),
    )


@message
class Line:
    """A record with its time, and the number of records before it that have no line.

    ``lost``: there was no room for them. ``omitted``: too many were refused in a short time.
    """

    now_ns: int
    record: Record
    lost: int = 0
    omitted: int = 0

    def time(self) -> str:
        """Return its time, RFC 3339."""
        return _rfc3339(self.now_ns)

    def encoded(self) -> bytes:
        """Return the line. Fields without a value are left out. Implements: EXT-26."""
        record = self.record
        fields: dict[str, str | int] = {
            "time": self.time(),
            "what": record.what,
            "outcome": record.outcome,
            "who": record.who,
            "rm": record.rm_id,
            "from": record.origin,
            "target": record.target,
            "reason": record.reason,
            "replaced": record.replaced,
            "queue": record.queue,
            "lost": self.lost,
            "omitted": self.omitted,
        }
        text = json.dumps({name: value for name, value in fields.items() if value})
        return text.replace("\x7f", "\\u007f").encode("ascii") + b"\n"


def _rfc3339(now_ns: int) -> str:
    seconds, rest_ns = divmod(now_ns, SECOND)
    moment = datetime.fromtimestamp(seconds, UTC).replace(microsecond=rest_ns // 1_000)
    return f"{moment:%Y-%m-%dT%H:%M:%S.%f}Z"
