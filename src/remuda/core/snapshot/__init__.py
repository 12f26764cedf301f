"""The whole state as bytes, and an equal, independent state from them.

``asks``, ``nodes``, ``partitions``, ``queues`` and ``records`` list each class of the state with
its fields; nothing else is ever written or built. ``table`` numbers the classes, ``writer`` and
``reader`` do the work, ``wire`` packs numbers and texts.
"""
