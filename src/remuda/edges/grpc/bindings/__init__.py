"""The server's side of sessions over gRPC: remuda.v1.ResourceManagerSession.

The protocol itself is in ``remuda.si.protocol`` and knows neither gRPC nor clocks; here it meets
the scheduler on one side and streams on the other. A *binding* is one session of one RM and lives
as long as it can be resumed; a *carrier* is one stream that carries it. Rules: chapter 70 section
11.
"""
