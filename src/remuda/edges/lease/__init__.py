"""The lease of the active scheduler in etcd: its address, its store, and what keeps it."""
