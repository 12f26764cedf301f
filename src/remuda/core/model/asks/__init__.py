"""Asks: single, grouped in classes, and the verdicts of predicates on them."""
