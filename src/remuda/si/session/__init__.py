"""The session protocol without I/O: numbers, acknowledgements, resending, calls, time as a value.

Both ends of a session are built around it, the scheduler's edge and the client (rules EXT-1 to
EXT-21). Nothing here waits, opens, or reads a clock, so whatever a peer or a network may do can be
tried in a test. Bytes come in, bytes go out; in between are frames of extension.proto.
"""
