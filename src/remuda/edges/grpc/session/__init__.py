"""The session stream over gRPC: remuda.v1.ResourceManagerSession (rules EXT-1 to EXT-21).

The protocol itself is in ``remuda.si.session`` and knows neither gRPC nor clocks; here it meets the
scheduler on one side and streams on the other. A *binding* is one session of one RM and lives as
long as it can be resumed; a *carrier* is one stream that carries it.
"""
