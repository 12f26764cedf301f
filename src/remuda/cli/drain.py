"""The command ``remuda drain``: nothing new is placed on a node."""

from __future__ import annotations

from typing import Final

from remuda.cli.administering import (
    DEFAULT_GRPC,
    AdminTokenOption,
    GrpcAuthorityOption,
    GrpcOption,
    YesOption,
)
from remuda.cli.switching import DrainedArgument, NodesArgument, switch_nodes
from remuda.cli.viewing.options import PartitionOption, RmOption

EXAMPLES: Final = """
Examples:

  remuda drain node node-7

  remuda drain node rack-3-a rack-3-b --yes --token-file admin

  remuda get nodes --state draining -o wide --watch
"""


def drain(
    *,
    kind: DrainedArgument,
    nodes: NodesArgument,
    partition: PartitionOption = "default",
    rm: RmOption = "",
    yes: YesOption = False,
    grpc: GrpcOption = DEFAULT_GRPC,
    grpc_ca: GrpcAuthorityOption = None,
    token_file: AdminTokenOption = None,
) -> None:
    """Place nothing new on nodes until 'remuda undrain'.

    What runs there goes on. This holds whatever the resource manager says of the node, until the
    node is removed or the scheduler is started again. The caller has to be an administrator.

    Exit code 0: done; 1: the scheduler does not answer, or nobody agreed; 2: the command line is
    wrong; 3: there is no such node; 4: the scheduler refuses it.
    """
    access = (grpc, grpc_ca, token_file)
    switch_nodes("drain", kind, nodes, partition, rm, yes=yes, grpc=access)
