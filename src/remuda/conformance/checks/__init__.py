"""The checks, a module per subject; each is a conversation under an ID of its own.

An element that a check does not expect is a failure; this is checked after its last line. So the
expectations of a check are the complete conversation.
"""
