"""The clusters that are measured: how many nodes, queues, applications and asks they have."""
