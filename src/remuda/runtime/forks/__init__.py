"""Copies of the process that answer one question about the scheduler each, and end.

A copy has the state of the moment at which it was made, and nothing it does reaches the original.
See ADR 29.
"""
