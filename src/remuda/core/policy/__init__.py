"""Pure functions: orders, shares, limits and the placement of applications.

Nothing here changes or remembers state. The packages that change usage call these functions for new
sort keys.
"""
