"""Decides what to do next. Reads state, returns a Decision, changes nothing but caches.

The caches (first of a ranking, bounds of the node order) never change an answer, only its price.
"""
