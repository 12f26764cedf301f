"""The session protocol without I/O: numbers, acknowledgements, resending, calls, time as a value.

Both ends of a session are built around it, the scheduler's edge and the client (rules chapter 70
section 11). The package does not wait, open connections or read a clock, so tests can try
everything a peer or a network may do. Bytes come in and go out; between them are frames of
extension.proto.
"""
