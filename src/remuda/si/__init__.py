"""The scheduler interface: generated messages and their translation from and to core records.

Nothing here sends, receives or keeps state; transports are in ``remuda.edges``, threads in
``remuda.runtime``.
"""
