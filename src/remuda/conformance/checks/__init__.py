"""The checks, a module per subject; each is a conversation under an ID of its own.

What a check does not expect must not come: after its last line everything that was heard and not
expected is a failure. So the expectations of a check are the complete conversation.
"""
