"""Reports on a running scheduler, made from its effects and its answers to queries.

The core and the loop do not know this package, so without it every decision would be the same
(chapters 90, 95 and 97).
"""
