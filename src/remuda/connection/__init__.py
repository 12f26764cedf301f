"""Connects the clients of this package to a scheduler: channel, calls, streams, admin calls.

Only ``remuda.client`` uses it; users import that.
"""
