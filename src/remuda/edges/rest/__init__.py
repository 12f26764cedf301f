"""The HTTP edge: read-only JSON about the scheduler, exactly as chapter 95 says.

Routes, JSON shapes, error bodies and the limits of the listener belong here. Questions to the
core and scheduling do not: this package only asks a view and dresses it.
"""
