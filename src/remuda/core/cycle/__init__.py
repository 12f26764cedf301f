"""Decides what to do next. Reads state, returns a Decision, changes nothing."""
