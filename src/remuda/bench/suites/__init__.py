"""A session of measurements: the shapes and their runs, the machine, and an earlier session."""
