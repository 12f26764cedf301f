"""A universal resource scheduler: a deterministic core, and ways to reach it.

Here belongs the version and nothing else; import what you need from its module, for example
``remuda.edges.inproc`` or ``remuda.client``.
"""

__version__ = "0.1.0"
