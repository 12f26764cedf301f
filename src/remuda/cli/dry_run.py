"""The command ``remuda dry-run``: what would happen if something was submitted now."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Final

import typer

from remuda.base.errors import RemudaError, UsageError
from remuda.base.texts import shown
from remuda.cli.insight_options import Output, OutputOption, seconds_text
from remuda.cli.server import (
    AuthorityOption,
    ContextOption,
    HttpServer,
    NotReachableError,
    ServerOption,
    TokenOption,
    WrongRequestError,
    path_of,
    server_at,
)
from remuda.cli.viewing import completing
from remuda.cli.viewing.options import PartitionOption, RmOption

EXAMPLES: Final = """
Examples:

  remuda dry-run --queue root.day --user ada --cpus 2 --memory 8Gi

  remuda dry-run --queue root.day --cpus 4 --gang 8 --within 60

  remuda dry-run job.yaml --output json
"""

# Bytes of a file with a submission; the server takes no more.
_FILE_LIMIT: Final = 64 * 1024

# Exit codes of the outcomes.
_CODES: Final = {"placed": 0, "waits": 3, "refused": 4}

_File = Annotated[
    str,
    typer.Argument(
        metavar="FILE", help="The submission in YAML or JSON; - reads stdin.", show_default=False
    ),
]
_Amount = Annotated[
    list[str] | None,
    typer.Option("--resource", metavar="TYPE=AMOUNT", help="More of it, such as gpu=1."),
]


def dry_run(
    *,
    file: _File = "",
    application: Annotated[
        str,
        typer.Option(
            metavar="ID",
            help="Application; one that runs gets another ask.",
            autocompletion=completing.applications,
        ),
    ] = "",
    queue: Annotated[
        str,
        typer.Option(
            metavar="PATH", help="Queue that is asked for.", autocompletion=completing.queues
        ),
    ] = "",
    user: Annotated[
        str, typer.Option(metavar="NAME", help="Who submits.", autocompletion=completing.users)
    ] = "",
    group: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Group of the user; may be repeated.")
    ] = None,
    cpus: Annotated[
        str, typer.Option(metavar="AMOUNT", help="Cores of one allocation: 2, or 500m.")
    ] = "",
    memory: Annotated[
        str, typer.Option(metavar="AMOUNT", help="Memory of one allocation: 8Gi.")
    ] = "",
    resource: _Amount = None,
    count: Annotated[
        int, typer.Option(metavar="N", min=1, help="How many allocations of that size.")
    ] = 1,
    gang: Annotated[
        int, typer.Option(metavar="N", min=0, help="Instead: a gang of so many members.")
    ] = 0,
    priority: Annotated[int, typer.Option(metavar="N", help="Priority of the ask.")] = 0,
    preempt: Annotated[
        bool, typer.Option("--preempt", help="Others may be preempted for it.")
    ] = False,
    within: Annotated[
        float, typer.Option(metavar="SECONDS", help="How long to look ahead, up to a day.")
    ] = 0.0,
    partition: PartitionOption = "default",
    rm: RmOption = "",
    server: ServerOption = None,
    context: ContextOption = "",
    token_file: TokenOption = None,
    server_ca: AuthorityOption = None,
    output: OutputOption = Output.TEXT,
) -> None:
    """Tell what would happen if something was submitted now; nothing changes.

    The running scheduler tries it on a copy of itself: which queue takes it, where it would run,
    what it would wait for, and what would be preempted for it. FILE has the keys that POST
    .../dry-run of the HTTP API takes; without it the options describe one ask or a gang.

    Exit code 0: all of it would be placed; 3: some of it would wait; 4: the scheduler would refuse
    it; 2: the command line or the submission is wrong; 1: the server does not answer, or has no
    room for the question.
    """
    amounts = _amounts(cpus, memory, resource or [])
    seconds_text(within)
    if file:
        if amounts or application or queue or user or group or gang:
            raise UsageError("FILE and options that describe a submission exclude each other")
        submission = _read(file)
        if within:
            submission["within"] = within
    else:
        if not amounts:
            raise UsageError("say how large it is with --cpus and --memory, or name a FILE")
        submission = {
            "applicationId": application or "dry-run",
            "queue": queue,
            "groups": group or [],
            "allowPreemptOther": preempt,
            "within": within,
            **({"user": user} if user else {}),
            **_asks(amounts, count, gang, priority),
        }
    called = server_at(server, token_file, server_ca, context)
    answer = _answer(called, path_of("partition", partition, "dry-run"), submission, rm)
    raise typer.Exit(_printed(called, answer, output))


def _amounts(cpus: str, memory: str, more: list[str]) -> dict[str, str]:
    """Return amounts by type. Raises: UsageError."""
    found = {name: text for name, text in (("vcore", cpus), ("memory", memory)) if text}
    for each in more:
        name, _, amount = each.partition("=")
        if not name or not amount:
            raise UsageError(f"--resource is {each!r:.80}; write TYPE=AMOUNT, such as gpu=1")
        if name in found:
            raise UsageError(f"--resource: {name!r:.80} is given twice")
        found[name] = amount
    return found


def _asks(amounts: dict[str, str], count: int, gang: int, priority: int) -> dict[str, object]:
    """Return the ask, or the task group of a gang. Raises: UsageError."""
    if gang:
        if count != 1:
            raise UsageError("--gang and --count exclude each other; a gang has so many members")
        group = {"name": "member", "minMember": gang, "minResource": amounts, "priority": priority}
        return {"taskGroups": [group]}
    ask = {
        "allocationKey": "ask",
        "resource": amounts,
        "maxAllocations": count,
        "priority": priority,
    }
    return {"asks": [ask]}


def _read(file: str) -> dict[str, object]:
    """Return the submission in a file; the server checks what is in it. Raises: UsageError."""
    import yaml  # noqa: PLC0415 - keeps help fast

    name = "standard input" if file == "-" else file
    try:
        if file == "-" and sys.stdin is not None:
            content = sys.stdin.buffer.read(_FILE_LIMIT + 1)
        else:
            with Path(file).open("rb") as opened:
                content = opened.read(_FILE_LIMIT + 1)
    except OSError as error:
        raise UsageError(f"cannot read {name}: {error.strerror}") from None
    if len(content) > _FILE_LIMIT:
        raise UsageError(f"{name} has more than 64 KiB; a submission has fewer")
    try:
        # An alias could make a small file expand to any size.
        if any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(content)):
            raise UsageError(f"{name} has an alias (*name); write the value instead")
        found = yaml.safe_load(content)
    except (yaml.YAMLError, UnicodeDecodeError, ValueError, RecursionError):
        raise UsageError(f"{name} is neither YAML nor JSON") from None
    if not isinstance(found, dict):
        raise UsageError(f"{name} is no submission: it has to be a mapping, with applicationId")
    return found


def _answer(server: HttpServer, path: str, submission: object, rm: str) -> bytes:
    """Return the answer of the server; codes 3 and 4 are for outcomes. Raises: RemudaError."""
    import msgspec  # noqa: PLC0415 - keeps help fast

    try:
        content = msgspec.json.encode(submission)
    except (TypeError, ValueError, RecursionError) as error:
        raise UsageError(f"the submission cannot be sent as JSON: {error}") from None
    try:
        return server.post(path, content, {"rm": rm} if rm else None)
    except WrongRequestError as error:
        raise UsageError(str(error)) from None
    except NotReachableError:
        raise
    except RemudaError as error:
        raise RemudaError(str(error)) from None


def _printed(server: HttpServer, answer: bytes, output: Output) -> int:
    """Print an answer, and return the exit code of its outcome.

    Implements: EXT-72. Rules: EXT-76.
    """
    import msgspec  # noqa: PLC0415 - keeps help fast

    from remuda.cli.insight_answers import Outcome, decoded, indented  # noqa: PLC0415

    found = decoded(answer, Outcome, server.address)
    if found.outcome not in _CODES:
        raise NotReachableError(f"{server.address}: unknown outcome {found.outcome!r:.80}")
    print(
        indented(msgspec.Raw(answer))
        if output is Output.JSON
        else "\n".join(map(shown, found.text))
    )
    return _CODES[found.outcome]
