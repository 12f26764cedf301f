"""The audit log: who did what that matters for security, from where, and whether it was refused.

Edges hand records to an ``Audit``, a function; they know neither the file nor its thread. Whoever
records a new kind of deed adds it to the table in records.py.
"""
