"""The gRPC server of the scheduler interface: one unary call and three duplex streams.

It turns bytes into commands and effects into bytes (rules SI-100 to SI-106); it takes no
decision and keeps no scheduling state.
"""
