"""Measurements of a scheduler in this process: how fast it places, and what it holds meanwhile."""
