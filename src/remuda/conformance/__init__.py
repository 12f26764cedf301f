"""A black-box suite for the scheduler interface: what any server of si.v1 must do on the wire.

It knows the generated messages and the numbered rules, and nothing of how remuda works inside, so
that it judges another implementation as it judges ours. A check says what it sends, what it
expects by which rule, and what came instead.
"""
