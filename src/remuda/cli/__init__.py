"""The command line: one module per command, one screen each.

Options, help texts and the mapping of errors to exit codes belong here; what a command does is
elsewhere and is imported when the command runs, so that help and completion stay fast.
"""
