"""A small trace of our own, so that a simulation can be tried without any data at hand.

``nodes.csv`` and ``workload.csv`` are in the project's own format: a made-up day of three teams
on 24 nodes, some with GPUs. Long trainings come in the morning, many short jobs over the day and
a burst of batch work in the afternoon, so that every figure of a run has a value.
"""
