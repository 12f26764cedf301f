"""Measures how fast the scheduler is for a resource manager, on fixed shapes."""
