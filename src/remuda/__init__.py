"""A universal resource scheduler: one deterministic core, and the ways in and out of it.

Nothing is imported here, so that each command loads only what it needs. Start at
``remuda.edges.inproc`` for a scheduler in your program, ``remuda.client`` for one elsewhere.
"""

__version__ = "0.1.0"
