"""The TLS of the listener: new connections get the certificate of the moment."""

from __future__ import annotations

import ssl
from typing import Final

from remuda_kubernetes.admission.pairs import Pair, ends, serving_context


class Serving:
    """A TLS context that lasts while certificates come and go."""

    def __init__(self, pair: Pair) -> None:
        """Begin with a certificate. Raises: PairError."""
        self.context: Final = serving_context(pair)
        self.pair = pair
        self._fresh = self.context
        self.context.sni_callback = self._choose

    def use(self, pair: Pair) -> bool:
        """Give new connections another certificate; whether it is another. Raises: PairError."""
        if pair == self.pair:
            return False
        self._fresh = serving_context(pair)
        self.pair = pair
        return True

    @property
    def end_seconds(self) -> float:
        """When the certificate ends, in Unix seconds."""
        return ends(self.pair).timestamp()

    def _choose(
        self, connection: ssl.SSLObject, _name: str | None, _context: ssl.SSLContext
    ) -> None:
        connection.context = self._fresh
