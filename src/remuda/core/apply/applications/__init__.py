"""The lives of applications: states, gangs, and asks that ended."""
