"""The command ``remuda undrain``: a node that was drained is used again."""

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

  remuda undrain node node-7

  remuda undrain node rack-3-a rack-3-b --yes --token-file admin
"""


def undrain(
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
    """Use nodes again that 'remuda drain' drained.

    A node that its resource manager drains stays drained until that ends it, too. The caller has
    to be an administrator.

    Exit code 0: done; 1: the scheduler does not answer, or nobody agreed; 2: the command line is
    wrong; 3: there is no such node; 4: the scheduler refuses it.
    """
    access = (grpc, grpc_ca, token_file)
    switch_nodes("undrain", kind, nodes, partition, rm, yes=yes, grpc=access)
