"""What knowing the caller costs a served process (`python -m tools.access_cost`)."""
