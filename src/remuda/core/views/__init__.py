"""Builds frozen read models from the state. Reads everything, changes nothing but caches."""
