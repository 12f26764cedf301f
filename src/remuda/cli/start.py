"""The command ``remuda start``: a queue or partition that was stopped goes on."""

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

  remuda start queue root.research

  remuda start partition default --yes --token-file admin
"""


def start(
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
    """Go on with a queue or a partition that was stopped.

    What waited there is placed again, in the order of service. A queue that is draining goes on,
    too, until the configuration is read again. The caller has to be an administrator.

    Exit code 0: done; 1: the scheduler does not answer, or nobody agreed; 2: the command line is
    wrong; 3: there is no such object; 4: the scheduler refuses it.
    """
    switch("start", kind, name, partition, rm, yes=yes, grpc=(grpc, grpc_ca, token_file))
