"""What drives the core in real time: the loop, its inbox, the delivery of effects, the journal.

Here live the only thread that touches a scheduler and the two points where other threads hand
work in and take results out. Nothing here knows the wire format or a transport; those are
``remuda.si`` and ``remuda.edges``.
"""
