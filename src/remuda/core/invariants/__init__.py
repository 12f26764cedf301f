"""Works every counter and index out from scratch and compares (the meaning of ``check``)."""
