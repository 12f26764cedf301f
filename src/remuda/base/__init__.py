"""What every layer may use: resource arithmetic, quantity texts, record declaration, errors.

Only pure code on the standard library belongs here; nothing that knows a queue, a node, a wire
format, a clock or a file. ``resources``, ``fits``, ``shares``, ``scores`` and ``tracked`` are the
whole algebra of chapter 40 on sparse maps, not only the part in use today: the oracle that
tests compare the core's vectors with, and what later parts of the scheduler build on.
"""
