"""Applications, their gangs, and those that ended."""
