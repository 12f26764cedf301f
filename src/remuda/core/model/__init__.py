"""The state: entities, and ordered structures over them that are consistent in themselves.

Nothing here changes usage up the queue tree, emits effects or decides.
"""
