"""What several requests and decisions do with allocations: IDs, release requests, undone swaps."""
