"""Carries out commands, decisions and timers, and emits what happened as effects.

This package does not search, order or score: the command or the decision says what to do.
"""
