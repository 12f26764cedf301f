"""The gRPC server: the scheduler interface, its extension, and the service of administrators.

It turns bytes into commands and effects into bytes (rules SI-85 to SI-106, EXT-20, EXT-24); it
takes no decision and keeps no scheduling state.
"""
