"""Measurements of preemption in a full cluster."""
