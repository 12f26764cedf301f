"""Which of several processes is the active scheduler: the one that holds a lease in a store.

The state machine and the fence are here, without I/O. The store is in ``remuda.edges.lease``.
"""
