"""Recomputes every counter and index and compares: this is what ``check`` does."""
