"""A pretended cluster to look at: a resource manager in this process that runs nothing.

What the demo pretends (nodes, jobs, users), how it talks to the scheduler and what it shows on
the terminal belong here. It uses the in-process API like any other resource manager.
"""
