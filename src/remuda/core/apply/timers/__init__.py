"""Carries out timers that run out."""
