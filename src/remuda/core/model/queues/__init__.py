"""The tree of queues, its orders, and the limits of queues, users and groups."""
