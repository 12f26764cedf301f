"""Nodes, their orders, and the ask classes that wait for a node."""
