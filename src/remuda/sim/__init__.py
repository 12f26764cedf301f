"""The simulator: a resource manager on a virtual clock in front of the production core.

Reading traces, playing them through the scheduler's door, measuring what came out and writing
it down belong here. Scheduling does not: every decision is the core's own.
"""
