"""How views of the core become JSON: shapes with the names and texts of chapter 95.

Nothing here knows of requests.
"""
