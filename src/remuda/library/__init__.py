"""The typed Python API: one scheduler as an object, plain values in and out.

``public`` lists what ``from remuda import ...`` offers; all else here may change at any time. It is
a resource manager of its own, above the commands of the core: on a time that the caller moves
(``stepped``), or on the thread and the clock of a served scheduler (``live``).
"""
