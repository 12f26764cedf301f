"""Event records that outlive the process: files that are bounded, and never waited for.

A backend is one way to keep numbered records; ``store.py`` feeds it from a thread of its own, and
``choice.py`` says which one an operator and a resource manager want together (EVT-132).
"""
