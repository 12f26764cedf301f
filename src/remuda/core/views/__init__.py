"""Builds frozen read models from the state. It reads everything and changes only caches."""
