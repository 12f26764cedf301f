"""The state: entities and the ordered structures over them, each consistent in itself.

Nothing here charges resources up the queue tree, emits effects or decides.
"""
