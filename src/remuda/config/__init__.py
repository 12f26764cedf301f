"""The queue configuration: its records, and how a YAML text becomes them or is refused.

Belongs here: schema, reading, checking, checksum, and what the keys of extra maps and the
properties of queues mean. Does not: files, reloading, applying a configuration to live objects.
"""
