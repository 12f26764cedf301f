"""A hollow cluster to look at: a resource manager that runs nothing, inside the same process.

What the demo pretends (nodes, jobs, users), how it talks to the scheduler and what it shows on
the terminal belong here. It is an ordinary user of the in-process API and gets no favours.
"""
