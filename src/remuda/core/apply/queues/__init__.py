"""Settings of queues: configured, made on demand, changed by a reload, and their consequences."""
