"""The ways into a running scheduler: gRPC, REST, and a Python object in the same process.

An edge checks what comes from outside, hands it to the runtime and gives back what the core
decided. It knows the wire; it takes no decision and keeps no state of the scheduler.
"""
