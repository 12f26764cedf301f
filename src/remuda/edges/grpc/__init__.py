"""The gRPC server: the scheduler interface, its extension, and the service of administrators.

It turns bytes into commands and effects into bytes (rules chapter 70 sections 10 and 11, EXT-20,
EXT-24); it makes no decision and keeps no scheduling state.
"""
