"""The command ``remuda stop``: nothing new is placed for a queue or partition."""

from __future__ import annotations

from typing import Final

from remuda.cli.administering import (
    DEFAULT_GRPC,
    AdminTokenOption,
    GrpcAuthorityOption,
    GrpcOption,
    YesOption,
)
from remuda.cli.switching import NameArgument, SwitchedArgument, switch
from remuda.cli.viewing.options import PartitionOption, RmOption

EXAMPLES: Final = """
Examples:

  remuda stop queue root.research

  remuda stop partition default --yes --token-file admin
"""


def stop(
    *,
    kind: SwitchedArgument,
    name: NameArgument,
    partition: PartitionOption = "default",
    rm: RmOption = "",
    yes: YesOption = False,
    grpc: GrpcOption = DEFAULT_GRPC,
    grpc_ca: GrpcAuthorityOption = None,
    token_file: AdminTokenOption = None,
) -> None:
    """Stop a queue and all queues below it, or a partition.

    Nothing is placed there until 'remuda start'. What runs goes on. A queue still takes asks and
    applications; a partition refuses new ones. The caller has to be an administrator.

    Exit code 0: done; 1: the scheduler does not answer, or nobody agreed; 2: the command line is
    wrong; 3: there is no such object; 4: the scheduler refuses it.
    """
    switch("stop", kind, name, partition, rm, yes=yes, grpc=(grpc, grpc_ca, token_file))
