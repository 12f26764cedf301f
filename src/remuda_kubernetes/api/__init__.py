"""The edge to the API server: connection, discovery, reflectors, calls, events, leader election.

Everything here runs on one asyncio loop and without threads. The connection and the credentials are
those of lightkube; lists and watches are read by reflectors of our own, straight into the records
of ``objects``. This package decides nothing: reflectors deliver changes, calls return outcomes.
"""
