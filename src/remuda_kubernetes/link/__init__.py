"""The edge to the scheduler: one session, used from one event loop, and what may not go over it."""
