"""Fuzzing: whatever bytes arrive, only the documented refusals may come of them.

A target is a function that takes bytes and gives them to one reader of remuda, as an edge does. It
lets the refusals pass that the reader documents. Everything else that it raises is a fault.
"""
