"""Drives the core in real time: the loop, its inbox, the delivery of effects, the journal.

This package has the only thread that touches a scheduler, and the two points where other threads
hand work in and take results out. It does not know the wire format (``remuda.si``) or a transport
(``remuda.edges``).
"""
