"""The ways into a running scheduler: gRPC, REST, and a Python object in the same process.

An edge checks requests from outside, passes them to the runtime and sends back the effects of the
core. It knows the wire format; it makes no decision and keeps no state of the scheduler.
"""
