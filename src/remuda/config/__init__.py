"""The queue configuration: its records, and how a YAML text becomes them or is refused.

This package has the schema, reading, checking, the checksum, and the meaning of the keys of extra
maps and of the properties of queues. It does not read files, reload, or apply a configuration to
live objects.
"""
