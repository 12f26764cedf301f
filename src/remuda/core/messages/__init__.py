"""The words spoken at the door of the core: commands in, effects out, queries and their views.

Flat records without behaviour; they may be recorded, compared and printed, never changed.
"""
