"""Preemptions, fruitless attempts, and the candidates for victims."""
