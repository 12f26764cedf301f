"""The command ``remuda run``: run a command on the local node and wait for it."""

from __future__ import annotations

import sys
from typing import Final

import typer

from remuda.base.errors import RemudaError, UsageError
from remuda.base.texts import shown
from remuda.cli import local_submitting as option
from remuda.cli.local_answers import WAITING, CommandSeen, Printer
from remuda.cli.local_door import FAILED, LocalDirOption, LocalNode
from remuda.cli.server import AuthorityOption, ContextOption, ServerOption, TokenOption
from remuda.cli.signals import sigterm_interrupts

EXAMPLES: Final = """
Examples:

  remuda run --cpus 2 --memory 1Gi -- python train.py

  remuda run --gpus 1 --queue root.users.ada -- ./bench --quick

  remuda run --gang 4 -- sh -c 'echo task $REMUDA_TASK_INDEX'
"""

# Seconds after which people are told that a command waits.
_PATIENCE: Final = 1


def run(
    *,
    program: option.ProgramArgument,
    cpus: option.CpusOption = "1",
    memory: option.MemoryOption = "",
    gpus: option.GpusOption = 0,
    gang: option.GangOption = 1,
    queue: option.QueueOption = "",
    name: option.NameOption = "",
    priority: option.PriorityOption = 0,
    local_dir: LocalDirOption = None,
    server: ServerOption = None,
    context: ContextOption = "",
    token_file: TokenOption = None,
    server_ca: AuthorityOption = None,
) -> None:
    """Run a command on this machine once its queue has room, and wait for its end.

    A scheduler has to run here with 'remuda serve --local-node'. The command gets the environment,
    the working directory and the umask of this one, nothing on stdin, and runs as the user of the
    scheduler. Its output comes here, up to 64 MiB behind. Ctrl-C and SIGTERM cancel it: it gets
    SIGTERM, and SIGKILL 10 s later. It goes on when this command is killed otherwise.

    Exit code: that of the command, 128+N after signal N, 127 if there is no such program, 126 if
    it cannot be run; of a gang, that of the task which failed first. 125: Remuda failed or refused
    it; 2: the command line is wrong.
    """
    node = LocalNode(server, context, token_file, server_ca, local_dir)
    content = option.submission(program, cpus, memory, gpus, gang, queue, name, priority)
    try:
        with sigterm_interrupts():
            ended = _followed(node, node.submit(content))
    except UsageError:
        raise
    except RemudaError as error:
        print(f"remuda: {error}", file=sys.stderr)
        raise typer.Exit(FAILED) from None
    if ended.reason:
        print(f"remuda: {shown(ended.id)}: {shown(ended.reason)}", file=sys.stderr)
    raise typer.Exit(FAILED if ended.code is None else ended.code)


def _followed(node: LocalNode, command: CommandSeen) -> CommandSeen:
    """Print what a command writes until it ends, and return how. Raises: RemudaError.

    Implements: EXT-113.
    """
    places = [0] * len(command.tasks)
    printer = Printer()
    told = cancelled = False
    while True:
        try:
            found = node.output(command.id, places, wait=20 if told else _PATIENCE)
            printer.show(found)
            places = found.next
            if found.over:
                printer.close()
                return found.command
            if not told and found.command.stage == WAITING:
                told = True
                print(
                    f"remuda: {shown(command.id)} waits;"
                    f" 'remuda explain {shown(found.command.application)}' says why",
                    file=sys.stderr,
                )
        except KeyboardInterrupt:
            if cancelled:
                raise
            cancelled = True
            node.cancel(command.id)
        except BrokenPipeError:
            # Nobody reads what it writes any more.
            node.cancel(command.id)
            raise
