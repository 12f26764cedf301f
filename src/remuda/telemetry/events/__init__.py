"""Event records on their way out of a running scheduler: kept, numbered, read and streamed.

The scheduler makes the records as effects (chapter 90, section 2). Here they are taken off its
thread, get their IDs and are kept for those who ask for them later, or who listen.
"""
