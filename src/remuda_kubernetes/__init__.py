"""The Kubernetes shim: pods of a cluster are scheduled by a remuda scheduler.

To the scheduler this package is a resource manager like any other: it sees the scheduler interface
and nothing of the core. ``objects`` are the fields of Kubernetes objects that are used,
``translation`` and ``predicates`` are pure functions of them, ``shim`` is the state machine with
one writer, ``api``, ``link`` and ``reports`` are its edges, ``testing`` is a server to test with.
"""
