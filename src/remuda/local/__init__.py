"""This machine as a node: people's commands run here as processes, when the scheduler says so.

The resource manager of one machine belongs here: what it decides (pure), the directory with its
state, the keeper that starts and watches one process, and its HTTP routes. It uses the in-process
API like any other resource manager, and never reaches into the core.
"""
