"""Carries out what the cycle decided."""
