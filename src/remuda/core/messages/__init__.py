"""The records that enter and leave the core: commands, effects, queries and their views.

They are flat, without behaviour; they may be recorded, compared and printed, never changed.
"""
