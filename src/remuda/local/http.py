"""The routes by which people submit commands to this machine, follow and cancel them.

To run a program for whoever reaches a port is dangerous. So these routes exist only with
``--local-node``, and each of them lets a caller in by itself, before a body is read.
"""

from __future__ import annotations

import asyncio
import base64
import getpass
import hmac
import secrets
from collections.abc import Callable, Mapping
from typing import Final, final

import msgspec

from remuda.base.message import message
from remuda.edges.questions.reach import Reach
from remuda.edges.rest.requests.asking import Asked, Views
from remuda.edges.rest.requests.endpoint import Endpoint, Routes
from remuda.edges.rest.requests.errors import NOBODY_KNOWN, ApiError
from remuda.edges.rest.requests.numbers import whole_number
from remuda.local.agent import LocalAgent
from remuda.local.directory import StateDirectory
from remuda.local.output import OUT, read_output
from remuda.local.records import Command, Outcome, Stage
from remuda.local.submissions import BODY_LIMIT, GANG_LIMIT, LIVE_LIMIT, wanted_of
from remuda.telemetry.audit.records import (
    CANCEL_COMMAND,
    DONE,
    REFUSED,
    SUBMIT_COMMAND,
    UNKNOWN,
    Audit,
    Record,
    no_audit,
)

# Bytes of output in one answer, and at least of each task.
_PORTION: Final = 256 * 1024
_LEAST: Final = 4 * 1024

# Seconds that an answer may wait for something to happen, and between two looks.
_WAIT_LIMIT: Final = 30
_LOOK_SECONDS: Final = 0.1

# Bytes of the body of a request to cancel.
_EMPTY: Final = 1_024

_AT_ONCE: Final = 16
_NO_COMMAND: Final = "Command not found"
_TOO_MANY: Final = f"There are {LIVE_LIMIT} commands already; cancel some, or wait"
_WRONG: Final = "The command is wrong"
_NO_PAGES: Final = "Web pages may not use commands of this machine"
_NO_RUN: Final = "The caller may not run commands: its identity needs run = true"
_CHALLENGE: Final[Mapping[str, str]] = {"WWW-Authenticate": 'Bearer realm="remuda"'}

_BELOW: Final = "/ws/v1/local/command/{command}"


class TaskShown(msgspec.Struct):
    """A task: its key, how far it is, and how it ended."""

    key: str
    stage: str
    code: int | None
    reason: str


class CommandShown(msgspec.Struct):
    """A command: whose it is, how far it is, and how it ended."""

    id: str
    application: str
    user: str
    queue: str
    stage: str
    tasks: list[TaskShown]
    code: int | None
    reason: str


class RecordShown(msgspec.Struct):
    """A piece of output. ``stream``: out or err. ``data``: base64."""

    task: int
    stream: str
    data: str


class OutputShown(msgspec.Struct):
    """Output of all tasks of a command.

    ``next``, ``lost``: for each task the place to go on from, and the bytes that are gone before
    what is here. ``over``: nothing more will come.
    """

    records: list[RecordShown]
    next: list[int]
    lost: list[int]
    over: bool
    command: CommandShown


@message
class _Portion:
    """What was read of several tasks."""

    records: list[RecordShown]
    next: list[int]
    lost: list[int]


@final
class LocalRoutes:
    """The routes of one agent. Event loop.

    ``secret``: what callers have to show, "" if the HTTP API knows its callers by tokens.
    ``audit``: takes records of what is submitted and cancelled.
    """

    def __init__(
        self,
        agent: LocalAgent,
        directory: StateDirectory,
        *,
        known_callers: bool,
        audit: Audit = no_audit,
    ) -> None:
        self._audit = audit
        self._agent = agent
        self._directory = directory
        self.secret = "" if known_callers else secrets.token_urlsafe(32)
        self._user = getpass.getuser()

    def routes(self) -> Routes:
        """Return the routes."""
        return {
            "/ws/v1/local/commands": Endpoint(
                self.submit,
                body_limit=BODY_LIMIT,
                at_once=_AT_ONCE,
                reach=Reach.RECORDS,
                admit=self.admit_change,
            ),
            _BELOW: Endpoint(self.command, reach=Reach.RECORDS, admit=self.admit),
            f"{_BELOW}/cancel": Endpoint(
                self.cancel,
                body_limit=_EMPTY,
                at_once=_AT_ONCE,
                reach=Reach.RECORDS,
                admit=self.admit_change,
            ),
            f"{_BELOW}/output": Endpoint(self.output, reach=Reach.RECORDS, admit=self.admit),
        }

    # -------------------------------------------------------------------- who may call

    def admit(self, asked: Asked) -> None:
        """Let a caller in that shows the secret, or whose identity may run commands.

        Raises: ApiError 401, 403. Implements: EXT-111.
        """
        if "origin" in asked.headers:
            raise ApiError(403, _NO_PAGES)
        if asked.identity is not None:
            if not asked.identity.runs:
                raise ApiError(403, _NO_RUN)
            return
        scheme, _, token = asked.headers.get("authorization", "").partition(" ")
        shown = token.strip() if scheme.lower() == "bearer" else ""
        if not self.secret or not hmac.compare_digest(shown.encode(), self.secret.encode()):
            raise ApiError(401, NOBODY_KNOWN, headers=_CHALLENGE)

    def admit_change(self, asked: Asked) -> None:
        """Let in a request that changes something: JSON, which no form of a web page sends.

        Raises: ApiError 401, 403, 415.
        """
        self.admit(asked)
        kind = asked.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "application/json":
            raise ApiError(415, "The body has to be application/json")

    # ------------------------------------------------------------------------- answers

    async def submit(self, views: Views, asked: Asked) -> object:
        """Take a command; it is written down before this answers. Rules: EXT-103, EXT-109."""
        user = self._user if asked.identity is None else asked.identity.name
        return await self._changed_by(
            asked, SUBMIT_COMMAND, "", lambda: self._submit(asked.body, user)
        )

    def _submit(self, content: bytes, user: str) -> Command:
        commands = self._agent.commands
        if len(commands.live()) >= LIVE_LIMIT:
            raise ApiError(503, _TOO_MANY)
        wanted = wanted_of(content, self._directory.last + 1, user, self._agent.machine.capacity())
        try:
            self._directory.add(wanted)
        except OSError as error:
            raise ApiError(503, f"The command cannot be written down: {error.strerror}") from None
        return commands.submit(wanted)

    async def command(self, views: Views, asked: Asked) -> object:
        """How far a command is; with ``wait`` once it has another stage, or after that time."""
        until = _deadline(asked)
        stage = asked.options.get("stage", "")
        while True:
            changes = self._agent.changes
            found = await asyncio.wrap_future(
                self._agent.call(lambda: _shown(self._command(asked)))
            )
            if found.stage != stage or not await self._changed(changes, until):
                return found

    async def cancel(self, views: Views, asked: Asked) -> object:
        """Cancel a command. Rules: EXT-105."""
        named = asked.path["command"]
        return await self._changed_by(asked, CANCEL_COMMAND, named, lambda: self._cancel(asked))

    def _cancel(self, asked: Asked) -> Command:
        command = self._command(asked)
        self._agent.commands.cancel(command)
        return command

    async def _changed_by(
        self, asked: Asked, what: str, named: str, change: Callable[[], Command]
    ) -> CommandShown:
        """Make a change and put it into the audit log. ``named``: the command, "" for a new one.

        Raises: ApiError. Implements: EXT-161.
        """
        outcome, reason, queue = UNKNOWN, "", ""
        try:
            shown = await asyncio.wrap_future(self._agent.call(lambda: _shown(change())))
            outcome, named, queue = DONE, shown.id, shown.queue
        except ApiError as error:
            outcome = REFUSED
            # The text may quote the command, in which there may be secrets.
            reason = _WRONG if error.status == 400 else error.text
            raise
        finally:
            who = "" if asked.identity is None else asked.identity.name
            self._audit(
                Record(
                    what,
                    outcome,
                    who,
                    origin=asked.origin,
                    target=named,
                    reason=reason,
                    queue=queue,
                )
            )
        return shown

    async def output(self, views: Views, asked: Asked) -> object:
        """What the tasks wrote, each from its place on; with ``wait`` once there is something.

        Implements: EXT-112.
        """
        until = _deadline(asked)
        places = _places(asked.options.get("from", ""))
        while True:
            changes = self._agent.changes
            # Asked before it is read: after the end of a command nothing is written.
            shown = await asyncio.wrap_future(
                self._agent.call(lambda: _shown(self._command(asked)))
            )
            tasks = len(shown.tasks)
            places = (places + [0] * tasks)[:tasks]
            found = await asyncio.to_thread(self._read, shown.id, places)
            over = shown.stage == Stage.OVER.value and not found.records
            if found.records or any(found.lost) or over or not await self._changed(changes, until):
                return OutputShown(found.records, found.next, found.lost, over, shown)

    def _read(self, identity: str, places: list[int]) -> _Portion:
        """Return what each task wrote from its place on; several tasks share one answer."""
        portion = max(_PORTION // len(places), _LEAST)
        found = _Portion([], [], [])
        for index, place in enumerate(places):
            own = self._directory.task(identity, index)
            records, after, lost = read_output(own, place, portion)
            found.records.extend(_record(index, stream, data) for stream, data in records)
            found.next.append(after)
            found.lost.append(lost)
        return found

    def _command(self, asked: Asked) -> Command:
        """Return the command that is meant, if it is the caller's. Raises: ApiError 404."""
        command = self._agent.commands.all.get(asked.path["command"])
        caller = asked.identity
        if command is None or not (
            caller is None or caller.admin or caller.name == command.wanted.user
        ):
            raise ApiError(404, _NO_COMMAND)
        return command

    async def _changed(self, changes: int, until: float) -> bool:
        """Wait until something may have changed; False if the time is over."""
        loop = asyncio.get_running_loop()
        while loop.time() < until and not self._agent.stopping:
            await asyncio.sleep(_LOOK_SECONDS)
            if self._agent.changes != changes:
                return True
        return False


def _deadline(asked: Asked) -> float:
    """Return the time of the loop until which an answer may wait. Raises: ApiError 400."""
    seconds = whole_number(asked.options.get("wait", "0"), "wait")
    return asyncio.get_running_loop().time() + min(seconds, _WAIT_LIMIT)


def _places(text: str) -> list[int]:
    """Return the places from which the output of tasks is wanted. Raises: ApiError 400."""
    return [whole_number(each, "from") for each in text.split(",")[:GANG_LIMIT] if each]


def _record(task: int, stream: bytes, data: bytes) -> RecordShown:
    name = "out" if stream == OUT else "err"
    return RecordShown(task, name, base64.b64encode(data).decode("ascii"))


def _shown(command: Command) -> CommandShown:
    """Return what a caller sees of a command; never its environment."""
    tasks = [TaskShown(each.key, each.stage.value, *_end(each.outcome)) for each in command.tasks]
    return CommandShown(
        command.identity,
        command.application,
        command.wanted.user,
        command.wanted.queue,
        command.stage.value,
        tasks,
        *_end(command.outcome),
    )


def _end(outcome: Outcome | None) -> tuple[int | None, str]:
    return (None, "") if outcome is None else (outcome.code, outcome.reason)
