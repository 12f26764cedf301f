"""The scheduler itself: pure, single-threaded, deterministic. ``scheduler`` is its only door.

What needs a clock, a thread, a file or a network does not belong here.
"""
