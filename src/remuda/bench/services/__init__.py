"""Measurements of a scheduler that is served, over gRPC and HTTP, and the processes they need."""
