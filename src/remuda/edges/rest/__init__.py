"""The HTTP edge: read-only JSON about the scheduler, exactly as chapter 95 says.

Routes, JSON shapes, error bodies and the limits of the listener belong here. Questions to the core
and scheduling do not: this package only asks for a view and converts it to JSON. From the inside
out: ``shapes`` (what JSON looks like), ``requests`` (what is asked), ``text`` (long answers),
``routes`` (what each path answers), ``transport`` (the server).
"""
