"""What every layer may use: resource arithmetic, quantity texts, record declaration, errors.

Only pure code on the standard library belongs here; nothing that knows a queue, a node, a wire
format, a clock or a file.
"""
