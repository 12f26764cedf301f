"""The command ``remuda token``: a new token for a client, and what the file of identities needs."""

from __future__ import annotations

from typing import Annotated, Final

import typer

from remuda.edges.token_hashes import new_token

EXAMPLES: Final = """
Examples:

  remuda token                            a token, and its line for the file

  remuda token --count 3                  three of them

  remuda token > new.txt                  to keep them off the screen
"""

_Count = Annotated[
    int, typer.Option(metavar="COUNT", min=1, max=1000, help="How many tokens to make.")
]


def token(count: _Count = 1) -> None:
    """Make a token for a client.

    stdout gets two lines: the token, for the client, and the line for its identity in the file of
    --grpc-access or --rest-access. The file has a hash, from which nobody can learn the token.
    """
    for _ in range(count):
        text, stored = new_token()
        print(text)
        print(f'token-hash = ["{stored.text()}"]')
