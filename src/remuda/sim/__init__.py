"""The simulator: a resource manager on a virtual clock in front of the production core.

This package reads traces, plays them, measures the results and writes them to files. It schedules
nothing: the core makes every decision.
"""
