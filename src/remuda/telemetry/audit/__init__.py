"""The audit log: deeds that matter for security, each with its caller, address and outcome.

Edges hand records to an ``Audit``, a function; they know neither the file nor its thread. A new
kind of deed belongs in the table of records.py.
"""
