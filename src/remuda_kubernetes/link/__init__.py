"""The edge to the scheduler: one session, used from one event loop."""
