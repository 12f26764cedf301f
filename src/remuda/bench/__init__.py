"""Measures how fast the scheduler is, on fixed shapes, the way a resource manager meets it."""
