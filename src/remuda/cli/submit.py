"""The command ``remuda submit``: have a command run on the local node, without waiting."""

from __future__ import annotations

from typing import Final

from remuda.base.texts import shown
from remuda.cli import local_submitting as option
from remuda.cli.local_door import LocalDirOption, LocalNode
from remuda.cli.server import AuthorityOption, ContextOption, ServerOption, TokenOption

EXAMPLES: Final = """
Examples:

  remuda submit --cpus 2 --memory 1Gi -- python train.py

  remuda submit --name sweep --gang 4 --gpus 1 -- ./worker
"""


def submit(
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
    """Have a command run on this machine once its queue has room, and print its ID.

    As 'remuda run', but this returns at once. 'remuda logs' shows what it writes, 'remuda wait'
    waits for it, 'remuda cancel' ends it. It goes on when the scheduler is started again.

    Exit code 0: it is written down and will run; 1: the scheduler does not answer; 2: the command
    line or the command is wrong; 4: the scheduler refuses the caller.
    """
    node = LocalNode(server, context, token_file, server_ca, local_dir)
    content = option.submission(program, cpus, memory, gpus, gang, queue, name, priority)
    print(shown(node.submit(content).id))
