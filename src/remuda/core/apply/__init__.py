"""Carries out commands, decisions and timers, and says what happened as effects.

Nothing here searches, orders or scores: what to do is in the command or the decision.
"""
