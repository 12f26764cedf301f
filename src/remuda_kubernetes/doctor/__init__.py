"""A look at a cluster: what would differ, what is misconfigured, which rights are missing.

``reading`` asks the API server and changes nothing. All that was read is a ``Sight``; pure
functions of it give the findings, one module for each area.
"""
