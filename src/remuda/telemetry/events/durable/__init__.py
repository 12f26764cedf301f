"""Event records that outlive the process, in bounded files for which the core never waits.

A backend is one way to keep numbered records. ``store.py`` feeds it from its own thread, and
``choice.py`` chooses it by the settings of the operator and of a resource manager (EVT-132).
"""
