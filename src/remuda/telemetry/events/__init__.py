"""Event records on their way out of a running scheduler: kept, numbered, read and streamed.

The scheduler makes the records as effects (chapter 90, section 2). This package takes them off its
thread, gives them IDs, keeps them for later readers and sends them to listeners.
"""
