"""What each path answers; a module for each family of paths, and the table of all (``table``)."""
