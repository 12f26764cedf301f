"""Answers "what would happen if" by doing it on a core that is used up.

The functions are pure: they get a core that nobody else uses, a copy made for them, and return
records. Nothing here knows how such a copy is made.
"""
