"""What is to be done about commands: told to the scheduler, done on this machine, written down."""

from __future__ import annotations

from typing import TypeAlias

from remuda.base.message import message
from remuda.local.records import Command


@message
class AddApplication:
    """Tell the scheduler about the application of a command.

    ``gang``: it asks for placeholders first. ``runs``: a task of it runs, so it must be accepted.
    """

    command: Command
    gang: bool
    runs: bool


@message
class RemoveApplication:
    """Take an application out, with all that it has."""

    application: str


@message
class AskFor:
    """Ask for a task, or for a placeholder of a gang."""

    command: Command
    key: str
    gang: bool
    placeholder: bool = False


@message
class ReportTask:
    """Tell the scheduler that a task runs already."""

    command: Command
    key: str


@message
class ReleaseTask:
    """Give back what a task or placeholder had. ``kind``: of the order that this confirms."""

    application: str
    key: str
    kind: int


@message
class StartTask:
    """Start the process of a task."""

    command: Command
    index: int


@message
class EndTask:
    """Tell the keeper of a task to end it."""

    command: Command
    index: int


@message
class WriteDown:
    """Write down how a command ended, or that it was submitted again."""

    command: Command


@message
class ForgetCommand:
    """Remove what is kept of a command that ended long ago."""

    identity: str


Effect: TypeAlias = (
    AddApplication
    | RemoveApplication
    | AskFor
    | ReportTask
    | ReleaseTask
    | StartTask
    | EndTask
    | WriteDown
    | ForgetCommand
)
