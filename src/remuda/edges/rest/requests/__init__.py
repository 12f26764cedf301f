"""The parts of requests and refusals: numbers, pages, forms, errors, and the type of a route.

Every route uses this package; it has no route itself.
"""
